"""Growth: a broker that creates and forgets items again and again must use the same memory for ever."""
