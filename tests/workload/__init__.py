"""A workload of real clients that keep on while their broker dies and comes back, and the history of what they saw.

    confluent_load.py, kafka_python_load.py, aiokafka_load.py    one producing loop for each client
    readers.py                                                   members of groups that read and commit
    client_process.py                                            a process with the threads of one client library
    workload.py                                                  all of them, started and stopped as one
    audit.py                                                     reading a broker, or its files, back

Clients never give up by themselves: an answer that does not come is an outcome too (`Outcome.UNKNOWN`).
"""
