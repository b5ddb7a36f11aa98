"""What console-producer and console-consumer are made of: lines to records, and records to lines."""
