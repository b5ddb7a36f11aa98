"""The subscription of a consumer, for the leader of its group: topics, and the partitions it owned before.

Versions: 1 owned partitions (KIP-429); 2 generation (KIP-792); 3 rack (KIP-881). A reader decodes a newer version
as the newest one it knows: fields are only added at the end.
"""

SCHEMA = """
topics            []string  0+
user_data         bytes     0+  nullable default=null
owned_partitions  []        1+  ignorable
    topic         string    1+
    partitions    []int32   1+
generation_id     int32     2+  default=-1 ignorable
rack_id           string    3+  nullable default=null ignorable
"""
