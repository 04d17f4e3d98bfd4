"""One ad in JSON: asks Handbill for it, and says that it was seen. Nothing but a Kafka library is needed.

Protobuf's JSON mapping: lowerCamelCase keys, enums by name, bytes in base64. A request in JSON is answered in JSON.
"""

import argparse
import base64
import json
import random
import sys
import time
import uuid

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

DEADLINE_SECONDS = 10
VIEW_SECONDS = 1.0  # Half of the ad on screen for so long is an impression (M1).


def uuid7():
    """An id that begins with the time, as the network wants them: 48 bits of milliseconds, then chance."""
    value = int(time.time() * 1000) << 80 | random.getrandbits(80)
    value = value & ~(0xF << 76) | 0x7 << 76
    return uuid.UUID(int=value & ~(0x3 << 62) | 0x2 << 62)


def send(producer, topic, kind, event_id, app, client_key, message, extra=()):
    headers = {
        "ce_specversion": "1.0", "ce_id": str(event_id), "ce_type": kind, "ce_source": "/client/" + app,
        "content-type": "application/json",
    }
    pairs = [(name, value.encode()) for name, value in headers.items()] + list(extra)
    producer.send(topic, json.dumps(message).encode(), key=client_key.encode(), headers=pairs).get(timeout=30)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--bootstrap", required=True, help="host:port of a Kafka broker")
    options.add_argument("--app", required=True, help="the app's id")
    options.add_argument("--key", required=True, help="the app's key for this kind of build")
    options.add_argument("--country", default="US", help="two letters, upper case")
    choice = options.parse_args()
    app, client_id, session_id = choice.app, uuid.uuid4().hex, uuid.uuid4().hex

    producer = KafkaProducer(bootstrap_servers=choice.bootstrap, acks="all")
    answers = KafkaConsumer(bootstrap_servers=choice.bootstrap, enable_auto_commit=False)
    place = TopicPartition("ads.responses." + app, 0)
    answers.assign([place])
    answers.seek_to_end(place)
    answers.position(place)

    request_id = uuid7()
    request = {
        "requestId": base64.b64encode(request_id.bytes).decode(), "appKey": choice.key, "app": app, "placement": "home",
        "clientId": client_id, "sessionId": session_id, "country": choice.country, "device": "DEVICE_PHONE",
        "deadlineMilliseconds": DEADLINE_SECONDS * 1000,
    }
    reply = [("kafka_replyPartition", place.partition.to_bytes(4, "big"))]
    print(f"asked     {request_id}")
    send(producer, "ads.requests", "org.handbill.ad.requested.v1", request_id, app, client_id, request, reply)

    answer, end = None, time.monotonic() + DEADLINE_SECONDS
    while answer is None and time.monotonic() < end:
        for record in answers.poll(timeout_ms=100).get(place, []):
            # Others' answers lie there too, in whatever form they asked for.
            if dict(record.headers)["ce_id"].decode() == str(request_id):
                answer = json.loads(record.value)
    if answer is None:
        sys.exit("no answer in time")
    if "ad" not in answer:
        sys.exit(f"no ad: {answer['failure']}")
    ad = answer["ad"]
    print(f"answered  {ad['serveId']}, the ad {ad['ad']}")

    answered = time.monotonic()
    time.sleep(VIEW_SECONDS)  # Here an app shows it.
    age = round((time.monotonic() - answered) * 1000)
    viewed = {"kind": "KIND_VIEWED", "token": ad["token"], "ageMilliseconds": age}
    # The client id is not taken in apps for users under 17: then the session's counts.
    client_key = session_id if ad.get("countsBySession") else client_id
    send(producer, "ads.impressions", "org.handbill.impression.viewed.v1", uuid7(), app, client_key, viewed)
    print(f"viewed    {age} ms after the answer")


if __name__ == "__main__":
    main()
