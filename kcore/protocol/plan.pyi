from kcore.protocol.notation import Struct

class Plan:
    name: str
    version: int
    flexible: bool
    def __init__(self, struct: Struct, version: int, flexible: bool) -> None: ...

def compile_plan(struct: Struct, version: int, flexible: bool) -> Plan: ...
