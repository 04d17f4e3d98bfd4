"""One banner's life through the network's edge: asks for an ad, checks its image, "shows" it for a second, and taps it.

Python's own library is enough: JSON over HTTP, as docs/edge.openapi.yaml says, and what docs/protocol.md asks of a client.
"""

import argparse
import base64
import hashlib
import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

DEADLINE_SECONDS = 10
VIEW_SECONDS = 1.0  # Half of the ad on screen for so long is an impression (M1).
ACTION_SECONDS = 2.0  # A click is told once its action has lasted so long (M7).
TRIES = 5


def uuid7():
    """An id that begins with the time, as the network wants them: 48 bits of milliseconds, then chance."""
    value = int(time.time() * 1000) << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    return uuid.UUID(int=value & ~(0x3 << 62) | 0x2 << 62)


def post(url, body):
    """The answer; comes again, with the same ids, while the edge says that it cannot now."""
    for attempt in range(TRIES):
        try:
            request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=DEADLINE_SECONDS + 2) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            try:
                problem = json.load(error)
            except ValueError:
                sys.exit(f"{error.code} from {url}, and not in the edge's words: is it the edge's address?")
            pause = error.headers.get("Retry-After")
            if pause is None or attempt == TRIES - 1:
                sys.exit(f"{error.code} {problem.get('reason', '')}: {problem['detail']}")
            time.sleep(int(pause))
        except (urllib.error.URLError, ValueError) as error:
            sys.exit(f"no answer from {url}: {getattr(error, 'reason', error)}: is it the edge's address?")


class Banner:
    def __init__(self, edge, key, client_id):
        self.edge, self.key, self.client_id, self.session_id = edge, key, client_id, uuid.uuid4().hex

    def ask(self, app, country):
        """The ad, or the end of the program with the network's sentence."""
        request_id = uuid7()
        print(f"asked     {request_id}")
        answer = post(self.edge + "/v1/ads", {
            "requestId": base64.b64encode(request_id.bytes).decode(), "appKey": self.key, "app": app,
            "placement": "home", "clientId": self.client_id, "sessionId": self.session_id, "country": country,
            "device": "DEVICE_PHONE", "requiredSizes": ["portrait", "landscape"], "currentSize": "portrait",
            "deadlineMilliseconds": DEADLINE_SECONDS * 1000,
        })
        self.answered = time.monotonic()
        if "failure" in answer:
            failure = answer["failure"]
            sys.exit(f"no ad: {failure.get('code', 'ERROR_CODE_UNKNOWN')} {failure['detail']}")
        self.ad = answer["ad"]
        # The client id is not taken in apps for users under 17: then the session's counts.
        self.client_key = self.session_id if self.ad.get("countsBySession") else self.client_id
        print(f"answered  {self.ad['serveId']}, the ad {self.ad['ad']}")

    def fetch(self):
        """All images, each of which must be what the answer says (else it is error 8)."""
        for image in self.ad["images"]:
            # A path lies at the edge that answered.
            with urllib.request.urlopen(urllib.parse.urljoin(self.edge + "/", image["url"])) as response:
                data = response.read(image.get("byteCount", 2_097_152) + 1)
            if "sha256" in image:
                is_right = hashlib.sha256(data).digest() == base64.b64decode(image["sha256"])
                if not is_right or len(data) != image["byteCount"]:
                    sys.exit(f"{image['url']} is not what the answer says")
            print(f"fetched   {image['size']}, {len(data)} bytes")

    def age(self):
        return round((time.monotonic() - self.answered) * 1000)

    def tell(self, name, event):
        """A batch of one event. It counts once, however often it is sent with its id."""
        event = {"id": str(uuid7()), **event}
        result = post(self.edge + "/v1/events", {"appKey": self.key, "clientKey": self.client_key, "events": [event]})
        if result["refused"]:
            sys.exit(f"{name} was refused: {result['refused'][0]['detail']}")
        print(f"{name:<9} {(event.get('impression') or event['click'])['ageMilliseconds']} ms after the answer")

    def impression(self, name):
        self.tell(name, {"impression": {
            "kind": "KIND_" + name.upper(), "token": self.ad["token"], "ageMilliseconds": self.age()}})

    def tap(self):
        click = {"kind": "KIND_CLICK", "token": self.ad["token"], "ageMilliseconds": self.age()}
        if self.ad["action"]["kind"] == "KIND_LEAVE":
            click["leftApplication"] = True  # Told at once: the app is about to go to the background.
        else:
            time.sleep(ACTION_SECONDS)  # The user looks at what covers the app.
            click["actionMilliseconds"] = round(ACTION_SECONDS * 1000)
        self.tell("tapped", {"click": click})


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--edge", required=True, help="the edge's address, such as https://ads.example")
    options.add_argument("--app", required=True, help="the app's id")
    options.add_argument("--key", required=True, help="the app's key for this kind of build")
    options.add_argument("--country", default="US", help="two letters, upper case")
    choice = options.parse_args()

    banner = Banner(choice.edge.rstrip("/"), choice.key, uuid.uuid4().hex)  # An app keeps its client id.
    banner.ask(choice.app, choice.country)
    banner.fetch()
    banner.impression("rendered")
    time.sleep(VIEW_SECONDS)
    banner.impression("viewed")
    time.sleep(0.5)
    banner.tap()
    banner.impression("unloaded")


if __name__ == "__main__":
    main()
