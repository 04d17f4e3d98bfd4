"""What a user with a password can do on a broker, by a client that is not ours: SASL/SCRAM-SHA-512 over TLS.

usage: broker_access.py BOOTSTRAP AUTHORITY USER PASSWORD TOPIC...
Prints one line of JSON: for each topic whether it could be written and read. Exits with 3 where the user is not let in.
"""

import json
import logging
import os
import sys
from concurrent.futures import ThreadPoolExecutor

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import TopicAuthorizationFailedError

NOT_LET_IN = 3
BLOCK_MILLISECONDS = 10_000
READ_MILLISECONDS = 3_000
# What may not be read is waited for: so all topics at once.
TOPICS_AT_ONCE = 8


class Refusals(logging.Handler):
    """The library tries again for ever, and only its log says that a password was refused: then nothing is waited for."""

    def __init__(self):
        super().__init__(logging.ERROR)

    def emit(self, record):
        if "SaslAuthenticationFailed" in record.getMessage():
            os._exit(NOT_LET_IN)


def writes(settings, topic):
    producer = KafkaProducer(**settings, max_block_ms=BLOCK_MILLISECONDS, retries=0, enable_idempotence=False)
    try:
        producer.send(topic, value=b"{}", partition=0).get(timeout=20)
        return True
    except TopicAuthorizationFailedError:
        return False
    finally:
        producer.close(timeout=5)


def reads(settings, topic):
    consumer = KafkaConsumer(**settings, enable_auto_commit=False, auto_offset_reset="earliest")
    try:
        # Whoever may neither read nor write it does not see it.
        if topic not in consumer.topics():
            return False
        consumer.assign([TopicPartition(topic, 0)])
        consumer.poll(timeout_ms=READ_MILLISECONDS)
        return True
    except TopicAuthorizationFailedError:
        return False
    finally:
        consumer.close(autocommit=False)


def main():
    bootstrap, authority, user, password, *topics = sys.argv[1:]
    settings = {
        "bootstrap_servers": bootstrap,
        "security_protocol": "SASL_SSL",
        "ssl_cafile": authority,
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": user,
        "sasl_plain_password": password,
    }
    logging.getLogger("kafka").addHandler(Refusals())
    with ThreadPoolExecutor(TOPICS_AT_ONCE) as pool:
        rights = pool.map(lambda topic: [writes(settings, topic), reads(settings, topic)], topics)
        print(json.dumps(dict(zip(topics, rights))))


main()
