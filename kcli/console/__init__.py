"""Parts of console-producer and console-consumer: lines to records, and records to lines."""
