"""One banner's life: asks Handbill for an ad, "shows" it for a second, and taps it.

Everything that docs/protocol.md asks of a client is here, for one ad: the key, the headers, asking again, ages by a
monotonic clock, and each event when it is due. Run it as README.md beside it says.
"""

import argparse
import os
import random
import sys
import time
import uuid
from datetime import datetime, timezone

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from handbill.v1 import click_pb2, common_pb2, impression_pb2, request_pb2, response_pb2

DEADLINE_SECONDS = 10
VIEW_SECONDS = 1.0  # Half of the ad on screen for so long is an impression (M1).
ACTION_SECONDS = 2.0  # A click is told once its action has lasted so long (M7).


def uuid7():
    """An id that begins with the time, as the network wants them: 48 bits of milliseconds, then chance."""
    value = int(time.time() * 1000) << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    return uuid.UUID(int=value & ~(0x3 << 62) | 0x2 << 62)


class Network:
    """One connection of an app: its requests and events go out, the answers of one partition come in."""

    def __init__(self, bootstrap, app, client_id):
        self.app = app
        self.key = client_id.encode()  # Kafka's usual partitioner turns it into the client's partition.
        self.producer = KafkaProducer(bootstrap_servers=bootstrap, acks="all")
        self.answers = KafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False)
        topic = "ads.responses." + app
        partitions = self.answers.partitions_for_topic(topic)
        if not partitions:
            sys.exit(f"There is no topic {topic}: run 'handbill topics create --app {app}'.")
        # No consumer group: stand at the end of one partition before the first request goes out.
        self.reply_partition = random.choice(sorted(partitions))
        place = TopicPartition(topic, self.reply_partition)
        self.answers.assign([place])
        self.answers.seek_to_end(place)
        self.answers.position(place)

    def send(self, topic, kind, event_id, message, extra=()):
        """Returns once the broker has it. An event that is sent again keeps its id, and counts once."""
        headers = {
            "ce_specversion": "1.0", "ce_id": str(event_id), "ce_type": kind, "ce_source": "/client/" + self.app,
            "ce_time": datetime.now(timezone.utc).isoformat(), "content-type": "application/protobuf",
        }
        pairs = [(name, value.encode()) for name, value in headers.items()] + list(extra)
        self.producer.send(topic, message.SerializeToString(), key=self.key, headers=pairs).get(timeout=30)

    def ask(self, request):
        """The answer to a request, or None after the deadline. Asks twice, with the same id."""
        event_id = uuid.UUID(bytes=request.request_id)
        end = time.monotonic() + DEADLINE_SECONDS
        for until in (end - DEADLINE_SECONDS * 2 / 3, end):
            request.deadline_milliseconds = round((end - time.monotonic()) * 1000)
            reply = [
                ("kafka_replyPartition", self.reply_partition.to_bytes(4, "big")),
                ("kafka_correlationId", str(event_id).encode()),
            ]
            self.send("ads.requests", "org.handbill.ad.requested.v1", event_id, request, reply)
            while time.monotonic() < until:
                for records in self.answers.poll(timeout_ms=100).values():
                    for record in records:
                        answer = response_pb2.AdResponse.FromString(record.value)
                        if answer.request_id == request.request_id:  # Others' answers lie there too.
                            return answer
        return None


def show(network, ad):
    """What a banner does with its ad. All ages count from the answer."""
    answered = time.monotonic()

    def age():
        return round((time.monotonic() - answered) * 1000)

    def tell(kind, name):
        event = impression_pb2.ImpressionEvent(kind=kind, token=ad.token, age_milliseconds=age())
        network.send("ads.impressions", f"org.handbill.impression.{name}.v1", uuid7(), event)
        print(f"{name:<9} {event.age_milliseconds} ms after the answer")

    # Here an app fetches ad.images and draws the one for its current size.
    tell(impression_pb2.ImpressionEvent.KIND_RENDERED, "rendered")
    time.sleep(VIEW_SECONDS)
    tell(impression_pb2.ImpressionEvent.KIND_VIEWED, "viewed")

    time.sleep(0.5)
    click = click_pb2.ClickEvent(kind=click_pb2.ClickEvent.KIND_CLICK, token=ad.token, age_milliseconds=age())
    if ad.action.kind == common_pb2.AdAction.KIND_LEAVE:
        click.left_application = True  # Told at once: the app is about to go to the background.
    else:
        time.sleep(ACTION_SECONDS)  # The user looks at what covers the app.
        click.action_milliseconds = round(ACTION_SECONDS * 1000)
    network.send("ads.clicks", "org.handbill.click.tapped.v1", uuid7(), click)
    print(f"{'tapped':<9} {click.age_milliseconds} ms after the answer, for {ad.action.destination}")

    tell(impression_pb2.ImpressionEvent.KIND_UNLOADED, "unloaded")


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--bootstrap", required=True, help="host:port of a Kafka broker")
    options.add_argument("--app", required=True, help="the app's id")
    options.add_argument("--key", required=True, help="the app's key for this kind of build")
    options.add_argument("--country", default="US", help="two letters, upper case")
    choice = options.parse_args()

    client_id = uuid.uuid4().hex  # An app keeps it, until its user resets it.
    network = Network(choice.bootstrap, choice.app, client_id)
    request = request_pb2.AdRequest(
        request_id=uuid7().bytes, app_key=choice.key, app=choice.app, placement="home", client_id=client_id,
        session_id=uuid.uuid4().hex, country=choice.country, device=common_pb2.DEVICE_PHONE,
        required_sizes=["portrait", "landscape"], current_size="portrait")
    print(f"asked     {uuid.UUID(bytes=request.request_id)}")
    answer = network.ask(request)
    if answer is None:
        sys.exit("no answer in time")
    if answer.WhichOneof("outcome") == "failure":
        failure = answer.failure
        sys.exit(f"no ad: {common_pb2.ErrorCode.Name(failure.code)} {failure.detail}")
    print(f"answered  {answer.ad.serve_id}, the ad {answer.ad.ad}")
    if answer.ad.counts_by_session:  # The client id is not taken in apps for users under 17.
        network.key = request.session_id.encode()
    show(network, answer.ad)


if __name__ == "__main__":
    main()
