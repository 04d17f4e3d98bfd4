"""A client that is not ours: asks for an ad, reads the answer, reports the impression and a click.

It speaks Kafka by kafka-python and makes and reads its events with the CloudEvents SDK; nothing of Handbill is in it.
It sends to the wrong partition on purpose: what belongs elsewhere is forwarded.

usage: foreign_client.py BOOTSTRAP APP APP_KEY COUNT DESCRIPTORS
DESCRIPTORS is a file descriptor set with all imports, as protoc writes it.
Prints one line of JSON: how many requests were answered with an ad, and how many with an error.
"""

import base64
import json
import os
import sys
import time
import uuid

from cloudevents.core.bindings.kafka import KafkaMessage, from_binary_event, to_binary_event
from cloudevents.core.v1.event import CloudEvent
from google.protobuf import json_format
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

import handbill_messages

DEADLINE_SECONDS = 30


def uuid7():
    milliseconds = int(time.time() * 1000)
    random = bytearray(os.urandom(10))
    random[0] = 0x70 | random[0] & 0x0F
    random[2] = 0x80 | random[2] & 0x3F
    return milliseconds.to_bytes(6, "big") + bytes(random)


def publish(producer, topic, kind, client, body, extra=()):
    attributes = {
        "id": str(uuid.uuid4()), "type": kind, "source": "/foreign-client", "specversion": "1.0",
        "datacontenttype": "application/json",
    }
    message = to_binary_event(CloudEvent(attributes, body))
    headers = list(message.headers.items()) + list(extra)
    partitions = sorted(producer.partitions_for(topic))
    partition = partitions[int.from_bytes(os.urandom(2), "big") % len(partitions)]
    producer.send(topic, key=client.encode(), value=message.value, headers=headers, partition=partition).get(timeout=10)


def ask(producer, app, key, request_id):
    body = {
        "requestId": base64.b64encode(request_id).decode(),
        "appKey": key,
        "app": app,
        "placement": "home",
        "clientId": request_id.hex(),
        "sessionId": request_id.hex(),
        "country": "US",
        "device": "DEVICE_PHONE",
        "deadlineMilliseconds": str(DEADLINE_SECONDS * 1000),
    }
    reply = [("kafka_replyPartition", (0).to_bytes(4, "big")), ("kafka_correlationId", request_id.hex().encode())]
    publish(producer, "ads.requests", "org.handbill.ad.requested.v1", request_id.hex(), body, reply)


def report(producer, client, token):
    encoded = base64.b64encode(token).decode()
    view = {"kind": "KIND_VIEWED", "token": encoded, "ageMilliseconds": "1000"}
    publish(producer, "ads.impressions", "org.handbill.impression.viewed.v1", client, view)
    click = {"kind": "KIND_CLICK", "token": encoded, "ageMilliseconds": "1500", "actionMilliseconds": "2000"}
    publish(producer, "ads.clicks", "org.handbill.click.tapped.v1", client, click)


def main():
    bootstrap, app, key, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    response_type = handbill_messages.read(sys.argv[5])["handbill.v1.AdResponse"]
    producer = KafkaProducer(bootstrap_servers=bootstrap, acks="all")
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="latest", enable_auto_commit=False)
    place = TopicPartition("ads.responses." + app, 0)
    consumer.assign([place])
    consumer.seek_to_end(place)
    consumer.position(place)
    waiting = {uuid7() for _ in range(count)}
    for request_id in waiting:
        ask(producer, app, key, request_id)
    outcome = {"ads": 0, "errors": 0}
    end = time.time() + DEADLINE_SECONDS
    while waiting and time.time() < end:
        for records in consumer.poll(timeout_ms=500).values():
            for record in records:
                headers = {name: value for name, value in record.headers}
                event = from_binary_event(KafkaMessage(headers=headers, key=record.key, value=record.value))
                assert event.get_type() == "org.handbill.ad.responded.v1", event.get_type()
                assert event.get_extension("partitionkey") == event.get_id(), event.get_attributes()
                # A request in JSON has its answer in JSON.
                assert headers["content-type"] == b"application/json", headers
                response = json_format.Parse(record.value, response_type())
                assert str(uuid.UUID(bytes=response.request_id)) == event.get_id()
                if response.request_id not in waiting:
                    continue
                waiting.discard(response.request_id)
                if response.WhichOneof("outcome") == "ad":
                    outcome["ads"] += 1
                    report(producer, response.request_id.hex(), response.ad.token)
                else:
                    outcome["errors"] += 1
    producer.flush()
    outcome["unanswered"] = len(waiting)
    print(json.dumps(outcome))


if __name__ == "__main__":
    main()
