"""The request handlers: one module per API, with these functions:

    def handle(context: RequestContext, request: Message) -> Fields | None
    def error_response(context: RequestContext, request: Message, error: KafkaError) -> Fields

`handle` returns the fields of the response, or None if it has called or will call `context.respond`. If it raises, the
response is that of `error_response`, which sets one error in every error field of the API's response.
"""
