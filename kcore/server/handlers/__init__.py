"""One file per API, named after it. Each has

    def handle(context: RequestContext, request: Message) -> Fields | None
    def error_response(context: RequestContext, request: Message, error: KafkaError) -> Fields

`handle` answers the response's fields, or None when `context.respond` was or will be called. What it raises is answered
with `error_response`, which puts one error everywhere the API's response has room for one.
"""
