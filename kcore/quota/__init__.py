"""Client quotas: measures rates and computes throttle times."""
