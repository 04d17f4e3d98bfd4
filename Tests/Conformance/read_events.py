"""Reads everything that lies in some topics with the CloudEvents SDK, as it comes out of the box.

usage: read_events.py BOOTSTRAP DESCRIPTORS TOPIC=MESSAGE...
DESCRIPTORS is a file descriptor set with all imports, as protoc writes it; MESSAGE is the full name of a topic's message.
Prints one line of JSON: for each ce_type, how many events there are, and how many of them have a key. Whatever the SDK
or Google's protobuf refuses ends it with an error. Tombstones (null values) are no events.
"""

import json
import sys
import uuid

from cloudevents.core.bindings.kafka import KafkaMessage, from_binary_event
from google.protobuf import json_format
from google.protobuf.unknown_fields import UnknownFieldSet
from kafka import KafkaConsumer, TopicPartition

import handbill_messages


def records(consumer, topic):
    places = [TopicPartition(topic, partition) for partition in sorted(consumer.partitions_for_topic(topic))]
    consumer.assign(places)
    consumer.seek_to_beginning(*places)
    ends = consumer.end_offsets(places)
    while any(consumer.position(place) < ends[place] for place in places):
        for batch in consumer.poll(timeout_ms=500).values():
            yield from batch


def expected_key(kind, body):
    """What the key of an event says, by its type; None where it has none to say."""
    if kind == "org.handbill.ad.responded.v1":
        return str(uuid.UUID(bytes=body.request_id))
    if kind == "org.handbill.allotment.asked.v1":
        return body.ask.campaign
    if kind == "org.handbill.allotment.granted.v1":
        return body.grant.campaign
    if kind == "org.handbill.allotment.refused.v1":
        return body.refusal.campaign
    return None


def check(record, make):
    """Reads one record in both ways; returns the event."""
    event = from_binary_event(KafkaMessage(headers=dict(record.headers), key=record.key, value=record.value))
    if event.get_datacontenttype() == "application/json":
        json_format.ParseDict(event.get_data(), make())
        return event
    assert event.get_datacontenttype() == "application/protobuf", event.get_attributes()
    body = make.FromString(record.value)
    assert len(UnknownFieldSet(body)) == 0, body
    key = expected_key(event.get_type(), body)
    assert key is None or event.get_extension("partitionkey") == key, event.get_attributes()
    return event


def main():
    messages = handbill_messages.read(sys.argv[2])
    consumer = KafkaConsumer(bootstrap_servers=sys.argv[1], enable_auto_commit=False)
    counts = {}
    for argument in sys.argv[3:]:
        topic, name = argument.split("=")
        for record in records(consumer, topic):
            if record.value is None:
                continue
            event = check(record, messages[name])
            count = counts.setdefault(event.get_type(), {"events": 0, "keys": 0})
            count["events"] += 1
            count["keys"] += event.get_extension("partitionkey") is not None
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
