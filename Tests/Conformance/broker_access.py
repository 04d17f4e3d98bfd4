"""What a user with a password can do on a broker, by a client that is not ours: SASL/SCRAM-SHA-512 over TLS.

usage: broker_access.py BOOTSTRAP AUTHORITY USER PASSWORD TOPIC...
Prints one line of JSON: for each topic whether it could be written and read. Exits with 3 where the user is not let in.
"""

import json
import sys

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError, NoBrokersAvailable, SaslAuthenticationFailedError, TopicAuthorizationFailedError

NOT_LET_IN = 3
READ_MILLISECONDS = 3_000


def writes(settings, topic):
    producer = KafkaProducer(**settings, max_block_ms=20_000, retries=0, enable_idempotence=False)
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
    try:
        found = {topic: [writes(settings, topic), reads(settings, topic)] for topic in topics}
    except (SaslAuthenticationFailedError, NoBrokersAvailable) as error:
        print(f"{user} is not let in: {error}", file=sys.stderr)
        sys.exit(NOT_LET_IN)
    except KafkaError as error:
        sys.exit(f"{type(error).__name__}: {error}")
    print(json.dumps(found))


main()
