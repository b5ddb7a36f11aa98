import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.AlterConfigsOptions;
import org.apache.kafka.clients.admin.AlterClientQuotasOptions;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.CreatePartitionsOptions;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.CreateTopicsResult;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.LogDirDescription;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.admin.UpdateFeaturesOptions;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.quota.ClientQuotaFilterComponent;

/** Java's AdminClient: each action is one of its calls, answered by its results, or its error and message, by key. */
final class AdminSteps {
    private static final int TIMEOUT_MS = 20_000;
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Admin admin;

    AdminSteps(String server) {
        admin = Admin.create(Map.of(
            "bootstrap.servers", server,
            "client.id", "java",
            "default.api.timeout.ms", TIMEOUT_MS,
            "request.timeout.ms", TIMEOUT_MS,
            "auto.include.jmx.reporter", false,
            "enable.metrics.push", false));
    }

    void close() {
        admin.close(Duration.ZERO);
    }

    Object run(String action, JsonNode arguments) {
        try {
            return call(action, arguments);
        } catch (Exception exception) {
            return failure(exception);
        }
    }

    private Object call(String action, JsonNode arguments) throws Exception {
        return switch (action) {
            case "createTopics" -> createTopics(arguments);
            case "listTopics" -> await(admin.listTopics(
                new ListTopicsOptions().listInternal(arguments.path("internal").asBoolean())).names()).stream().sorted().toList();
            case "describeTopics" -> describeTopics(arguments);
            case "deleteTopics" -> arguments.has("ids")
                ? each(admin.deleteTopics(TopicCollection.ofTopicIds(ids(arguments.get("ids")))).topicIdValues(), done -> "deleted")
                : each(admin.deleteTopics(strings(arguments.get("names"))).values(), done -> "deleted");
            case "createPartitions" -> createPartitions(arguments);
            case "deleteRecords" -> each(
                admin.deleteRecords(byPartition(arguments, offset -> RecordsToDelete.beforeOffset(offset.asLong()))).lowWatermarks(),
                deleted -> deleted.lowWatermark());
            case "describeConfigs" -> describeConfigs(arguments);
            case "alterConfigs" -> alterConfigs(arguments);
            case "incrementalAlterConfigs" -> incrementalAlterConfigs(arguments);
            case "describeLogDirs" -> each(admin.describeLogDirs(integers(arguments.get("brokers"))).descriptions(), AdminSteps::plainLogDirs);
            case "listOffsets" -> each(offsets(arguments), found -> List.of(found.offset(), found.timestamp(), found.leaderEpoch().orElse(-1)));
            case "describeProducers" -> describeProducers(arguments);
            case "describeFeatures" -> describeFeatures();
            case "updateFeatures" -> updateFeatures(arguments);
            case "describeClientQuotas" -> describeClientQuotas(arguments);
            case "alterClientQuotas" -> alterClientQuotas(arguments);
            case "describeCluster" -> describeCluster();
            case "listGroups" -> await(admin.listConsumerGroups().all()).stream().map(group ->
                List.of(group.groupId(), group.isSimpleConsumerGroup(), group.state().map(Object::toString).orElse(""),
                    group.type().map(Object::toString).orElse(""))).sorted(java.util.Comparator.comparing(Object::toString)).toList();
            case "describeGroups" -> describeGroups(arguments);
            case "deleteGroups" -> each(admin.deleteConsumerGroups(strings(arguments.get("groups"))).deletedGroups(), done -> "deleted");
            case "listGroupOffsets" -> await(admin.listConsumerGroupOffsets(arguments.get("group").asText()).partitionsToOffsetAndMetadata())
                .entrySet().stream().collect(Collectors.toMap(e -> e.getKey().toString(), e -> String.valueOf(e.getValue())));
            case "alterGroupOffsets" -> alterGroupOffsets(arguments);
            case "deleteGroupOffsets" -> deleteGroupOffsets(arguments);
            case "electLeaders" -> electLeaders(arguments);
            case "alterPartitionReassignments" -> alterPartitionReassignments(arguments);
            case "listPartitionReassignments" -> await(admin.listPartitionReassignments().reassignments()).keySet().stream().map(Object::toString).toList();
            case "describeTransactions" -> each(strings(arguments.get("ids")), id ->
                await(admin.describeTransactions(List.of(id)).description(id)).state().toString());
            case "listTransactions" -> await(admin.listTransactions().all()).stream().map(Object::toString).toList();
            case "describeUserScramCredentials" -> await(admin.describeUserScramCredentials().all()).keySet();
            case "describeAcls" -> await(admin.describeAcls(org.apache.kafka.common.acl.AclBindingFilter.ANY).values()).stream().map(Object::toString).toList();
            case "describeMetadataQuorum" -> await(admin.describeMetadataQuorum().quorumInfo()).leaderId();
            case "listClientMetricsResources" -> await(admin.listClientMetricsResources().all()).stream().map(Object::toString).toList();
            case "alterReplicaLogDirs" -> alterReplicaLogDirs(arguments);
            default -> throw new IllegalArgumentException("no such action: " + action);
        };
    }

    // Topics

    private Object createTopics(JsonNode arguments) {
        List<NewTopic> topics = new ArrayList<>();
        for (JsonNode asked : arguments.get("topics")) {
            NewTopic topic;
            if (asked.has("assignments")) {
                topic = new NewTopic(asked.get("name").asText(), byNumber(asked.get("assignments"), AdminSteps::integers));
            } else {
                topic = new NewTopic(asked.get("name").asText(), optional(asked.get("partitions")).map(JsonNode::asInt),
                    optional(asked.get("replicas")).map(replicas -> (short) replicas.asInt()));
            }
            topics.add(asked.has("configs") ? topic.configs(stringMap(asked.get("configs"))) : topic);
        }
        CreateTopicsResult result = admin.createTopics(topics,
            new CreateTopicsOptions().validateOnly(arguments.path("validateOnly").asBoolean()));
        return each(result.values().keySet(), name -> {
            await(result.values().get(name));
            Map<String, Object> made = new LinkedHashMap<>();
            made.put("partitions", await(result.numPartitions(name)));
            made.put("replicas", await(result.replicationFactor(name)));
            made.put("topic_id", await(result.topicId(name)).toString());
            if (arguments.path("showConfigs").asBoolean()) {
                made.put("configs", plainConfig(await(result.config(name)), null));
            }
            return made;
        });
    }

    private Object describeTopics(JsonNode arguments) {
        DescribeTopicsOptions options = new DescribeTopicsOptions();
        if (arguments.has("pageSize")) {
            options.partitionSizeLimitPerResponse(arguments.get("pageSize").asInt());
        }
        options.includeAuthorizedOperations(arguments.path("operations").asBoolean());
        return arguments.has("ids")
            ? each(admin.describeTopics(TopicCollection.ofTopicIds(ids(arguments.get("ids"))), options).topicIdValues(), AdminSteps::plainTopic)
            : each(admin.describeTopics(strings(arguments.get("names")), options).topicNameValues(), AdminSteps::plainTopic);
    }

    private static Object plainTopic(TopicDescription topic) {
        Map<String, Object> plain = new LinkedHashMap<>();
        plain.put("name", topic.name());
        plain.put("internal", topic.isInternal());
        plain.put("topic_id", topic.topicId().toString());
        plain.put("operations", topic.authorizedOperations() == null ? null
            : topic.authorizedOperations().stream().map(Object::toString).sorted().toList());
        plain.put("partitions", topic.partitions().stream().map(AdminSteps::plainPartition).toList());
        return plain;
    }

    private static Object plainPartition(TopicPartitionInfo partition) {
        return Arrays.asList(partition.partition(), partition.leader() == null ? null : partition.leader().id(),
            partition.replicas().stream().map(Node::id).toList(), partition.isr().stream().map(Node::id).toList(),
            partition.elr() == null ? null : partition.elr().size(), partition.lastKnownElr() == null ? null : partition.lastKnownElr().size());
    }

    private Object createPartitions(JsonNode arguments) {
        Map<String, NewPartitions> wanted = new HashMap<>();
        arguments.get("topics").fields().forEachRemaining(topic -> {
            int total = topic.getValue().get("total").asInt();
            wanted.put(topic.getKey(), topic.getValue().has("assignments")
                ? NewPartitions.increaseTo(total, list(topic.getValue().get("assignments"), AdminSteps::integers))
                : NewPartitions.increaseTo(total));
        });
        return each(admin.createPartitions(wanted,
            new CreatePartitionsOptions().validateOnly(arguments.path("validateOnly").asBoolean())).values(), done -> "increased");
    }

    // Configurations

    private static ConfigResource resource(JsonNode asked) {
        return new ConfigResource(ConfigResource.Type.valueOf(asked.get(0).asText()), asked.get(1).asText());
    }

    private Object describeConfigs(JsonNode arguments) {
        DescribeConfigsOptions options = new DescribeConfigsOptions()
            .includeSynonyms(arguments.path("synonyms").asBoolean())
            .includeDocumentation(arguments.path("documentation").asBoolean());
        Set<String> only = arguments.has("only") ? Set.copyOf(strings(arguments.get("only"))) : null;
        return each(admin.describeConfigs(list(arguments.get("resources"), AdminSteps::resource), options).values(),
            config -> plainConfig(config, only));
    }

    private static Object plainConfig(Config config, Set<String> only) {
        Map<String, Object> plain = new TreeMap<>();
        for (ConfigEntry entry : config.entries()) {
            if (only == null || only.contains(entry.name())) {
                Map<String, Object> fields = new LinkedHashMap<>();
                fields.put("value", entry.value());
                fields.put("source", entry.source().toString());
                fields.put("type", entry.type().toString());
                fields.put("read_only", entry.isReadOnly());
                fields.put("sensitive", entry.isSensitive());
                fields.put("documented", entry.documentation() != null && !entry.documentation().isEmpty());
                fields.put("synonyms", entry.synonyms().stream().map(one -> Arrays.asList(one.name(), one.value(), one.source().toString())).toList());
                plain.put(entry.name(), fields);
            }
        }
        return plain;
    }

    @SuppressWarnings("deprecation")
    private Object alterConfigs(JsonNode arguments) {
        Map<ConfigResource, Config> wanted = new LinkedHashMap<>();
        for (JsonNode asked : arguments.get("resources")) {
            wanted.put(resource(asked), new Config(stringMap(asked.get(2)).entrySet().stream()
                .map(entry -> new ConfigEntry(entry.getKey(), entry.getValue())).toList()));
        }
        return each(admin.alterConfigs(wanted,
            new AlterConfigsOptions().validateOnly(arguments.path("validateOnly").asBoolean())).values(), done -> "altered");
    }

    private Object incrementalAlterConfigs(JsonNode arguments) {
        Map<ConfigResource, Collection<AlterConfigOp>> wanted = new LinkedHashMap<>();
        for (JsonNode asked : arguments.get("resources")) {
            wanted.put(resource(asked), list(asked.get(2), operation -> new AlterConfigOp(
                new ConfigEntry(operation.get(1).asText(), operation.path(2).isTextual() ? operation.get(2).asText() : null),
                AlterConfigOp.OpType.valueOf(operation.get(0).asText()))));
        }
        return each(admin.incrementalAlterConfigs(wanted,
            new AlterConfigsOptions().validateOnly(arguments.path("validateOnly").asBoolean())).values(), done -> "altered");
    }

    // Logs and offsets

    private static Object plainLogDirs(Map<String, LogDirDescription> directories) {
        Map<String, Object> plain = new TreeMap<>();
        directories.forEach((path, directory) -> {
            Map<String, Object> fields = new LinkedHashMap<>();
            fields.put("error", directory.error() == null ? null : failure(directory.error()));
            fields.put("knows_its_space", directory.totalBytes().isPresent() && directory.usableBytes().isPresent());
            Map<String, Object> replicas = new TreeMap<>();
            directory.replicaInfos().forEach((partition, replica) ->
                replicas.put(partition.toString(), List.of(replica.size(), replica.offsetLag(), replica.isFuture())));
            fields.put("replicas", replicas);
            plain.put(path, fields);
        });
        return plain;
    }

    private Object alterReplicaLogDirs(JsonNode arguments) {
        Map<org.apache.kafka.common.TopicPartitionReplica, String> wanted = new LinkedHashMap<>();
        for (JsonNode asked : arguments.get("replicas")) {
            wanted.put(new org.apache.kafka.common.TopicPartitionReplica(asked.get(0).asText(), asked.get(1).asInt(), asked.get(2).asInt()),
                asked.get(3).asText());
        }
        return each(admin.alterReplicaLogDirs(wanted).values(), done -> "altered");
    }

    private Map<TopicPartition, KafkaFuture<org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo>> offsets(JsonNode arguments) {
        Map<TopicPartition, OffsetSpec> wanted = byPartition(arguments, AdminSteps::offsetSpec);
        var result = admin.listOffsets(wanted);
        return wanted.keySet().stream().collect(Collectors.toMap(partition -> partition, result::partitionResult));
    }

    private static OffsetSpec offsetSpec(JsonNode asked) {
        return switch (asked.asText()) {
            case "earliest" -> OffsetSpec.earliest();
            case "latest" -> OffsetSpec.latest();
            case "max timestamp" -> OffsetSpec.maxTimestamp();
            case "earliest local" -> OffsetSpec.earliestLocal();
            case "latest tiered" -> OffsetSpec.latestTiered();
            default -> OffsetSpec.forTimestamp(asked.asLong());
        };
    }

    private Object describeProducers(JsonNode arguments) {
        List<TopicPartition> partitions = list(arguments.get("partitions"), AdminSteps::partition);
        var result = admin.describeProducers(partitions);
        return each(partitions, partition -> await(result.partitionResult(partition)).activeProducers().stream().map(producer ->
            List.of(producer.producerEpoch(), producer.lastSequence(), producer.coordinatorEpoch().orElse(-1),
                producer.currentTransactionStartOffset().orElse(-1))).toList());
    }

    // The cluster

    private Object describeFeatures() throws Exception {
        var features = await(admin.describeFeatures().featureMetadata());
        Map<String, Object> plain = new LinkedHashMap<>();
        plain.put("finalized", strings(features.finalizedFeatures()));
        plain.put("supported", strings(features.supportedFeatures()));
        return plain;
    }

    private static Map<String, String> strings(Map<String, ?> values) {
        Map<String, String> plain = new TreeMap<>();
        values.forEach((name, value) -> plain.put(name, value.toString()));
        return plain;
    }

    private Object updateFeatures(JsonNode arguments) {
        Map<String, FeatureUpdate> wanted = new LinkedHashMap<>();
        arguments.get("features").fields().forEachRemaining(feature -> wanted.put(feature.getKey(), new FeatureUpdate(
            (short) feature.getValue().get(0).asInt(), FeatureUpdate.UpgradeType.valueOf(feature.getValue().get(1).asText()))));
        return each(admin.updateFeatures(wanted,
            new UpdateFeaturesOptions().validateOnly(arguments.path("validateOnly").asBoolean())).values(), done -> "updated");
    }

    private Object describeClientQuotas(JsonNode arguments) throws Exception {
        List<ClientQuotaFilterComponent> components = list(arguments.get("components"), asked -> {
            String type = asked.get(0).asText();
            if (asked.size() == 1) {
                return ClientQuotaFilterComponent.ofEntityType(type);
            }
            return asked.get(1).isNull() ? ClientQuotaFilterComponent.ofDefaultEntity(type)
                : ClientQuotaFilterComponent.ofEntity(type, asked.get(1).asText());
        });
        Map<String, Object> plain = new TreeMap<>();
        await(admin.describeClientQuotas(arguments.path("strict").asBoolean() ? ClientQuotaFilter.containsOnly(components)
            : ClientQuotaFilter.contains(components)).entities()).forEach((entity, quotas) ->
                plain.put(new TreeMap<>(entity.entries()).toString(), new TreeMap<>(quotas)));
        return plain;
    }

    private Object alterClientQuotas(JsonNode arguments) {
        List<ClientQuotaAlteration> wanted = list(arguments.get("alterations"), asked -> {
            Map<String, String> entity = new HashMap<>();
            asked.get(0).fields().forEachRemaining(part -> entity.put(part.getKey(), part.getValue().isNull() ? null : part.getValue().asText()));
            List<ClientQuotaAlteration.Op> operations = new ArrayList<>();
            asked.get(1).fields().forEachRemaining(quota -> operations.add(new ClientQuotaAlteration.Op(quota.getKey(),
                quota.getValue().isNull() ? null : quota.getValue().asDouble())));
            return new ClientQuotaAlteration(new ClientQuotaEntity(entity), operations);
        });
        Map<String, KafkaFuture<Void>> results = new TreeMap<>();
        admin.alterClientQuotas(wanted, new AlterClientQuotasOptions().validateOnly(arguments.path("validateOnly").asBoolean()))
            .values().forEach((entity, result) -> results.put(new TreeMap<>(entity.entries()).toString(), result));
        return each(results, done -> "altered");
    }

    private Object describeCluster() throws Exception {
        var cluster = admin.describeCluster(new org.apache.kafka.clients.admin.DescribeClusterOptions().includeAuthorizedOperations(true));
        Map<String, Object> plain = new LinkedHashMap<>();
        plain.put("cluster_id", await(cluster.clusterId()));
        plain.put("controller", await(cluster.controller()).id());
        plain.put("nodes", await(cluster.nodes()).stream().map(node -> Arrays.asList(node.id(), node.host() + ":" + node.port(), node.rack())).toList());
        plain.put("operations", await(cluster.authorizedOperations()).stream().map(Object::toString).sorted().toList());
        return plain;
    }

    private Object electLeaders(JsonNode arguments) throws Exception {
        Set<TopicPartition> partitions = arguments.hasNonNull("partitions")
            ? Set.copyOf(list(arguments.get("partitions"), AdminSteps::partition)) : null;
        Map<String, Object> plain = new TreeMap<>();
        await(admin.electLeaders(ElectionType.valueOf(arguments.get("type").asText()), partitions).partitions())
            .forEach((partition, error) -> plain.put(partition.toString(), error.<Object>map(AdminSteps::failure).orElse("elected")));
        return plain;
    }

    private Object alterPartitionReassignments(JsonNode arguments) {
        return each(admin.alterPartitionReassignments(byPartition(arguments, replicas -> replicas.isNull()
            ? Optional.<NewPartitionReassignment>empty() : Optional.of(new NewPartitionReassignment(integers(replicas))))).values(), done -> "altered");
    }

    // Groups

    private Object describeGroups(JsonNode arguments) {
        return each(admin.describeConsumerGroups(strings(arguments.get("groups"))).describedGroups(), group -> {
            Map<String, Object> plain = new LinkedHashMap<>();
            plain.put("state", group.state().toString());
            plain.put("type", group.type().toString());
            plain.put("assignor", group.partitionAssignor());
            plain.put("simple", group.isSimpleConsumerGroup());
            plain.put("members", group.members().size());
            plain.put("coordinator", group.coordinator().id());
            return plain;
        });
    }

    private Object alterGroupOffsets(JsonNode arguments) {
        Map<TopicPartition, OffsetAndMetadata> wanted = byPartition(arguments, offset -> new OffsetAndMetadata(offset.asLong()));
        var result = admin.alterConsumerGroupOffsets(arguments.get("group").asText(), wanted);
        return each(wanted.keySet(), partition -> {
            await(result.partitionResult(partition));
            return "altered";
        });
    }

    private Object deleteGroupOffsets(JsonNode arguments) {
        List<TopicPartition> partitions = list(arguments.get("partitions"), AdminSteps::partition);
        var result = admin.deleteConsumerGroupOffsets(arguments.get("group").asText(), Set.copyOf(partitions));
        return each(partitions, partition -> {
            await(result.partitionResult(partition));
            return "deleted";
        });
    }

    // From JSON

    private static <V> List<V> list(JsonNode array, Function<JsonNode, V> each) {
        return StreamSupport.stream(array.spliterator(), false).map(each).collect(Collectors.toList());
    }

    private static List<String> strings(JsonNode array) {
        return list(array, JsonNode::asText);
    }

    private static List<Integer> integers(JsonNode array) {
        return list(array, JsonNode::asInt);
    }

    private static List<Uuid> ids(JsonNode array) {
        return list(array, id -> Uuid.fromString(id.asText()));
    }

    private static Map<String, String> stringMap(JsonNode object) {
        return JSON.convertValue(object, JSON.getTypeFactory().constructMapType(HashMap.class, String.class, String.class));
    }

    private static Optional<JsonNode> optional(JsonNode node) {
        return node == null || node.isNull() ? Optional.empty() : Optional.of(node);
    }

    private static <V> Map<Integer, V> byNumber(JsonNode object, Function<JsonNode, V> each) {
        Map<Integer, V> found = new HashMap<>();
        object.fields().forEachRemaining(field -> found.put(Integer.valueOf(field.getKey()), each.apply(field.getValue())));
        return found;
    }

    /** "topic-0" names a partition. */
    private static TopicPartition partition(JsonNode name) {
        return partition(name.asText());
    }

    private static TopicPartition partition(String name) {
        int dash = name.lastIndexOf('-');
        return new TopicPartition(name.substring(0, dash), Integer.parseInt(name.substring(dash + 1)));
    }

    private static <V> Map<TopicPartition, V> byPartition(JsonNode arguments, Function<JsonNode, V> each) {
        Map<TopicPartition, V> found = new LinkedHashMap<>();
        arguments.get("partitions").fields().forEachRemaining(field -> found.put(partition(field.getKey()), each.apply(field.getValue())));
        return found;
    }

    // To results

    private interface Call<K> {
        Object apply(K key) throws Exception;
    }

    private static <T> T await(KafkaFuture<T> future) throws Exception {
        return future.get(2L * TIMEOUT_MS, TimeUnit.MILLISECONDS);
    }

    private static <K> Map<String, Object> each(Collection<K> keys, Call<K> call) {
        Map<String, Object> results = new TreeMap<>();
        for (K key : keys) {
            Object result;
            try {
                result = call.apply(key);
            } catch (Exception exception) {
                result = failure(exception);
            }
            results.put(String.valueOf(key), result);
        }
        return results;
    }

    private static <K, V> Map<String, Object> each(Map<K, KafkaFuture<V>> futures, Function<V, Object> plain) {
        return each(futures.keySet(), key -> plain.apply(await(futures.get(key))));
    }

    private static Map<String, Object> failure(Throwable exception) {
        Throwable cause = exception;
        while ((cause instanceof ExecutionException || cause instanceof CompletionException) && cause.getCause() != null) {
            cause = cause.getCause();
        }
        Map<String, Object> plain = new LinkedHashMap<>();
        Errors error = Errors.forException(cause);
        plain.put("error", error == Errors.UNKNOWN_SERVER_ERROR ? cause.getClass().getSimpleName() : error.name());
        plain.put("message", cause.getMessage());
        return plain;
    }
}
