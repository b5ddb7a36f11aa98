"""From the start of a process to its first row: FORMAT SERVERS TOPIC [KEY=VALUE ...]"""

from __future__ import annotations

import sys


def main() -> None:
    source, servers, topic = sys.argv[1:4]
    settings = dict(word.split("=", 1) for word in sys.argv[4:])
    from kspark.session import close_session, open_session

    session = open_session("cold", "local[2]", settings)
    reader = session.read.format(source).option("kafka.bootstrap.servers", servers).option("subscribe", topic)
    assert reader.load().first() is not None
    close_session(session)


if __name__ == "__main__":
    main()
