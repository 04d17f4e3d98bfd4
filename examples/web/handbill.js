// Handbill for web pages: a banner in an element of the page, through a network's edge. One file, no build step, no other
// code; docs/protocol.md says why it does what it does, and the letters with numbers are rules of docs/rules.md.
//
//   import { Banner } from "./handbill.js";
//   new Banner(document.querySelector("#ad"), {
//     edge: "https://ads.example", app: "chess", key: "…", placement: "home", country: "US",
//   });
//
// What happens is told by events of the element:
//   handbill-load    an ad is there                    detail: { ad, serveId, isTest }
//   handbill-error   none is, and why (rules E)        detail: { code, message, retrySeconds }; it is asked again by itself
//   handbill-wait    this place was asked for a moment ago, maybe by the page before (D2)   detail: { seconds }
//   handbill-view    its impression is told (M1)       detail: { serveId }
//   handbill-action  it was tapped; preventDefault() refuses the action (D7)   detail: { destination }
//   handbill-finish  what covered the page is gone     detail: { serveId }
//   handbill-unload  its content is gone (D3)          detail: { serveId }

const DEADLINE = 10_000;
const RETRY_MAXIMUM = 300_000;
const REFRESH_MAXIMUM = 3_600_000;
// In milliseconds, until an answer says otherwise: how often it asks (D2), what counts as seen (M1), and how long an action
// lasts that is no accident (M7).
const PACING = { refresh: 30_000, view: 1_000, fraction: 0.5, action: 2_000 };
const BATCH_WAIT = 1_000;
const BATCH_EVENTS = 100;
// So many events cost as much of the edge's rates as one request.
const REQUEST_EVENTS = 10;
const KEPT_EVENTS = 200;

const CODES = [
  "UNKNOWN", "SERVER_FAILURE", "LOADING_THROTTLED", "INVENTORY_UNAVAILABLE", "CONFIGURATION_ERROR",
  "BANNER_VISIBLE_WITHOUT_CONTENT", "APPLICATION_INACTIVE", "AD_UNLOADED", "ASSET_LOAD_FAILURE",
  "AD_RESPONSE_VALIDATE_FAILURE",
];

/** The network's figures, as far as they are sound. */
function followed(pacing) {
  if (!pacing) return PACING;
  const held = (value, least, most) => Math.min(Math.max(Number(value ?? 0), least), most);
  return {
    refresh: held(pacing.refreshMilliseconds, 5_000, REFRESH_MAXIMUM), view: held(pacing.viewMilliseconds, 100, 60_000),
    fraction: held(pacing.viewBasisPoints, 100, 10_000) / 10_000, action: held(pacing.actionMilliseconds, 0, 60_000),
  };
}

const base64 = (bytes) => btoa(String.fromCharCode(...bytes));
const hexadecimal = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** An id that begins with the time, as the network wants them: UUID version 7, 16 bytes. */
function newID() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  for (let index = 0, time = Date.now(); index < 6; index++, time = Math.floor(time / 256)) bytes[5 - index] = time % 256;
  bytes[6] = (bytes[6] & 0x0f) | 0x70;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  return bytes;
}

/** The page's storage, where the user lets it have one. */
const storage = {
  keys() { try { return Object.keys(localStorage); } catch { return []; } },
  get(key) { try { return localStorage.getItem(key); } catch { return null; } },
  set(key, value) { try { localStorage.setItem(key, value); } catch { /* Kept by nobody, then. */ } },
  remove(key) { try { localStorage.removeItem(key); } catch { /* It was not there. */ } },
};

/** The app's random id of this browser (A8): kept until `resetClientID`, absent where tracking is limited. */
function clientID(app, isTrackingLimited) {
  const name = `handbill.${app}.client`;
  if (isTrackingLimited) { storage.remove(name); return ""; }
  const known = storage.get(name);
  if (known && /^[0-9a-f]{32}$/.test(known)) return known;
  const made = hexadecimal(crypto.getRandomValues(new Uint8Array(16)));
  storage.set(name, made);
  return made;
}

/** Forgets this browser's id of an app; the next banner gets another. */
export function resetClientID(app) {
  storage.remove(`handbill.${app}.client`);
  for (const name of storage.keys().filter((name) => name.startsWith(`handbill.${app}.next.`))) storage.remove(name);
}

class Failure extends Error {
  constructor(code, message, retrySeconds = 1, status = 0) {
    super(message);
    Object.assign(this, { code, retrySeconds, status });
  }
}

/**
 * Sends JSON; gives the edge's answer, or throws a `Failure` that says when to come again. Whoever else answers (a captive
 * portal, a proxy) is no edge, and what he says is no answer.
 */
async function post(url, body, timeout, isAnswer = () => true) {
  let response;
  try {
    response = await fetch(url, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), keepalive: true,
      credentials: "omit", redirect: "error", signal: AbortSignal.timeout(timeout),
    });
  } catch (error) { throw new Failure(1, `the edge cannot be reached: ${error.message}`); }
  const { status } = response;
  const said = await response.json().catch(() => null);
  if (status === 200 && said !== null && isAnswer(said)) return said;
  const message = said?.detail ?? `whoever answers at ${url} is not the network's edge (status ${status})`;
  if (status >= 500 || [408, 425, 429].includes(status)) {
    throw new Failure(status === 429 ? 2 : 1, message, Number(response.headers.get("Retry-After")) || 1, status);
  }
  throw new Failure(said?.number === undefined ? 1 : 4, message, 1, status);
}

/** Tells the network what happened, each thing until the edge has it, also after the page was left and opened again. */
class Reporter {
  constructor(edge, app, key, clientKey) {
    Object.assign(this, { edge, app, key, clientKey });
    this.name = `handbill.${app}.events.${hexadecimal(newID())}`;
    this.batches = [];
    this.pause = 0;
    this.isSending = false;
    // What another page could not tell any more. If it is still there it tells it, too: twice does no harm.
    for (const name of storage.keys().filter((name) => name.startsWith(`handbill.${app}.events.`))) {
      try { this.batches.push(...JSON.parse(storage.get(name)).slice(0, 10)); } catch { /* Not ours. */ }
      storage.remove(name);
    }
    this.keep();
    if (this.batches.length > 0) this.flushSoon(0);
  }

  add(event, clientKey = this.clientKey) {
    const count = this.batches.reduce((sum, batch) => sum + batch.events.length, 0);
    if (count >= KEPT_EVENTS) return;
    let batch = this.batches.findLast((batch) => batch.clientKey === clientKey && !batch.isClosed);
    if (!batch || batch.events.length >= BATCH_EVENTS) {
      batch = { appKey: this.key, clientKey, events: [] };
      this.batches.push(batch);
    }
    batch.events.push({ id: hexadecimal(newID()), timeMilliseconds: String(Date.now()), ...event });
    this.keep();
    this.flushSoon(BATCH_WAIT);
  }

  keep() {
    if (this.batches.length === 0) storage.remove(this.name);
    else storage.set(this.name, JSON.stringify(this.batches));
  }

  flushSoon(wait) {
    if (this.timer === undefined) this.timer = setTimeout(() => this.flush(), Math.max(wait, this.pause));
  }

  async flush() {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.isSending) return;
    this.isSending = true;
    while (this.batches.length > 0) {
      const batch = this.batches[0];
      batch.isClosed = true;
      const { appKey, clientKey, events } = batch;
      // Nothing but the edge's word on each event ends them.
      const isResult = ({ acceptedCount = 0, refused = [] }) => acceptedCount + refused.length === events.length;
      try {
        const result = await post(`${this.edge}/v1/events`, { appKey, clientKey, events }, 30_000, isResult);
        for (const refused of result.refused ?? []) console.warn("handbill: refused", refused.reason, refused.detail);
        this.pause = 0;
      } catch (failure) {
        // Too large; or it costs more than others of this address leave of its rate, which may never be enough for all of it.
        const least = { 413: 1, 429: REQUEST_EVENTS }[failure.status];
        if (events.length > least) {
          const rest = events.splice(Math.max(least, Math.floor(events.length / 2)));
          this.batches.splice(1, 0, { appKey, clientKey, events: rest, isClosed: true });
          if (failure.status === 413) continue;
        }
        console.warn("handbill: told again later:", failure.message);
        this.pause = Math.min(RETRY_MAXIMUM, Math.max((failure.retrySeconds ?? 1) * 1_000, this.pause * 2, 1_000));
        this.isSending = false;
        this.flushSoon(this.pause);
        return;
      }
      this.batches.shift();
      this.keep();
    }
    this.isSending = false;
  }
}

/**
 * A banner in `element`. It asks for its first ad at once, or where the page before has just asked, when it may; and for the
 * next when the one it has was seen (D2).
 */
export class Banner {
  constructor(element, { edge, app, key, placement, country, size = "portrait", device, isTrackingLimited = false, segments = [] }) {
    this.element = element;
    this.edge = edge.replace(/\/+$/, "");
    this.size = size;
    const session = hexadecimal(newID());
    const client = clientID(app, isTrackingLimited);
    this.wish = {
      appKey: key, app, placement, clientId: client, sessionId: session, country, requiredSizes: [size],
      currentSize: size, deadlineMilliseconds: String(DEADLINE), segments,
      device: (device ?? (innerWidth >= 768 ? "pad" : "phone")) === "pad" ? "DEVICE_PAD" : "DEVICE_PHONE",
    };
    this.nextName = client && `handbill.${app}.next.${placement}`;
    this.reporter = new Reporter(this.edge, app, key, client || session);
    this.pacing = PACING;
    this.retry = PACING.refresh;
    const isCoverKnown = "isVisible" in IntersectionObserverEntry.prototype;
    this.observer = new IntersectionObserver((entries) => this.look(entries), {
      threshold: Array.from({ length: 101 }, (_, percent) => percent / 100), ...(isCoverKnown ? { trackVisibility: true, delay: 100 } : {}),
    });
    this.isCoverKnown = isCoverKnown;
    this.isDue = false;
    document.addEventListener("visibilitychange", () => this.pageChanged());
    addEventListener("pagehide", () => { this.unload(); this.reporter.flush(); });
    // Come back to as it was left, a page has no ad any more, and maybe nothing that would ask for one.
    addEventListener("pageshow", ({ persisted }) => {
      if (persisted && !this.ad && !this.isLoading && this.next === undefined) this.loadFirst();
    });
    this.loadFirst();
  }

  /** Sooner than the network lets this browser ask again it would be refused (D2). */
  loadFirst() {
    const wait = Math.max(this.nextAt ?? 0, this.nextName ? Number(storage.get(this.nextName)) : 0) - Date.now();
    // A clock may have been set.
    if (!(wait > 0 && wait <= REFRESH_MAXIMUM)) return this.loadIfSeen();
    this.tell("wait", { seconds: Math.ceil(wait / 1_000) });
    this.loadLater(wait);
  }

  /** Notes when this page, and those after it, may ask. */
  noteNext() {
    // The time of day is in whole milliseconds, its rest cut off: one more, or it would be too soon.
    this.nextAt = Date.now() + 1 + this.askedAt + this.pacing.refresh - performance.now();
    if (this.nextName) storage.set(this.nextName, String(this.nextAt));
  }

  /** Asks then, if somebody looks at the page (D2). */
  loadLater(wait) {
    clearTimeout(this.next);
    // Timers take whole milliseconds, and cut off the rest: one more, or it would come too soon.
    this.next = setTimeout(() => { this.next = undefined; this.loadIfSeen(); }, Math.max(0, wait) + 1);
  }

  /** Asks now; where nobody looks, or something covers the page, as soon as that has changed. */
  loadIfSeen() {
    this.isDue = document.visibilityState !== "visible" || this.action !== undefined;
    if (!this.isDue) this.load();
  }

  tell(name, detail, options = {}) {
    return this.element.dispatchEvent(new CustomEvent(`handbill-${name}`, { detail, bubbles: true, ...options }));
  }

  /** Asks for an ad; nobody needs to call it. */
  async load() {
    if (this.isLoading || this.action) return;
    this.isLoading = true;
    clearTimeout(this.next);
    this.next = undefined;
    this.askedAt = performance.now();
    this.noteNext();
    const id = newID();
    let served;
    try {
      const answer = await this.ask({ ...this.wish, requestId: base64(id) });
      const answeredAt = performance.now();
      served = this.checked(answer, id);
      served.answeredAt = answeredAt;
      // Where the network took no client id (A4, A8) the ad's events count under the session's alone.
      if (served.countsBySession) served.clientKey = this.wish.sessionId;
      this.pacing = followed(served.pacing);
      this.noteNext();
      served.picture = await this.fetchImage(served);
      this.show(served);
      this.retry = this.pacing.refresh;
    } catch (failure) {
      this.failed(failure, id, served);
    }
    this.isLoading = false;
  }

  /** Once more with the same id where nothing came: that is the same request. */
  async ask(request) {
    try { return await post(`${this.edge}/v1/ads`, request, DEADLINE + 2_000); } catch (failure) {
      if (failure.code !== 1 || failure.retrySeconds > 5) throw failure;
      await new Promise((resolve) => setTimeout(resolve, failure.retrySeconds * 1_000));
      return post(`${this.edge}/v1/ads`, request, DEADLINE + 2_000);
    }
  }

  checked(answer, id) {
    if (answer.failure) {
      const code = CODES.indexOf(String(answer.failure.code ?? "ERROR_CODE_UNKNOWN").replace("ERROR_CODE_", ""));
      const failure = new Failure(Math.max(0, code), answer.failure.detail ?? "", null);
      failure.isKnown = true; // It is the network's own: it need not be told.
      throw failure;
    }
    const ad = answer.ad;
    const isWhole = answer.requestId === base64(id) && ad?.token && ad.images?.[0]?.url
      && /^https?:/i.test(ad.action?.destination ?? "");
    if (!isWhole) throw new Failure(9, "the answer is not an ad that can be shown", null);
    return ad;
  }

  /** The image, which must be what the answer says it is. */
  async fetchImage(ad) {
    const { url, sha256, byteCount } = ad.images[0];
    try {
      const response = await fetch(new URL(url, this.edge + "/"), {
        credentials: "omit", ...(sha256 ? { integrity: `sha256-${sha256}` } : {}),
      });
      const blob = await response.blob();
      if (!response.ok || (byteCount && blob.size !== byteCount)) throw new Error(`status ${response.status}`);
      return URL.createObjectURL(blob);
    } catch (error) {
      const failure = new Failure(8, `the ad's image cannot be had: ${error.message}`, null);
      throw failure;
    }
  }

  show(ad) {
    this.unload();
    this.ad = ad;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "handbill-ad";
    button.setAttribute("aria-label", "Advertisement");
    button.style.cssText = "all: unset; cursor: pointer; display: block; max-width: 100%";
    const image = document.createElement("img");
    image.src = ad.picture;
    image.alt = "Advertisement";
    image.style.cssText = "display: block; max-width: 100%; height: auto";
    button.append(image);
    button.addEventListener("click", () => this.tapped());
    this.element.replaceChildren(button);
    this.observer.observe(button);
    this.expiry = setTimeout(() => { this.unload(); this.loadIfSeen(); }, Number(ad.lifetimeMilliseconds));
    this.tell("load", { ad: ad.ad, serveId: ad.serveId, isTest: ad.isTest ?? false });
  }

  failed(failure, id, served) {
    const { appKey, app, placement, clientId, sessionId } = this.wish;
    const code = failure.code ?? 0;
    if (!failure.isKnown && [1, 8, 9].includes(code)) {
      const subject = served
        ? { token: served.token, ageMilliseconds: this.age(served) }
        : { request: { requestId: base64(id), app, placement, clientId, sessionId, appKey } };
      this.reporter.add({ impression: { kind: "KIND_FAILED", error: `ERROR_CODE_${CODES[code]}`, ...subject } }, served?.clientKey);
      if (served) this.ended(served);
    }
    const wait = Math.max(this.retry, (failure.retrySeconds ?? 0) * 1_000);
    this.retry = Math.min(RETRY_MAXIMUM, this.retry * 2);
    this.tell("error", { code, message: failure.message, retrySeconds: wait / 1_000 });
    this.loadLater(wait);
  }

  // What is seen

  age(ad) { return String(Math.max(0, Math.floor(performance.now() - ad.answeredAt))); }

  impression(kind, ad) {
    this.reporter.add({ impression: { kind: `KIND_${kind}`, token: ad.token, ageMilliseconds: this.age(ad) } }, ad.clientKey);
  }

  /** The end of an ad; before it, that nobody saw it (D3, D5). */
  ended(ad) {
    const isExpired = Number(this.age(ad)) >= Number(ad.lifetimeMilliseconds);
    if (!ad.isRendered) this.impression(isExpired ? "EXPIRED_UNSEEN" : "NEVER_SHOWN", ad);
    this.impression("UNLOADED", ad);
  }

  look(entries) {
    const entry = entries.at(-1);
    if (!entry || !this.ad) return;
    const isSeen = entry.isIntersecting && (!this.isCoverKnown || entry.isVisible);
    this.fraction = isSeen ? entry.intersectionRatio : 0;
    this.isOnScreen = isSeen;
    this.judge();
  }

  pageChanged() {
    if (document.visibilityState === "hidden") { this.reporter.flush(); } else if (this.isDue) { this.loadIfSeen(); }
    this.judge();
  }

  /** Rendered with the first part on screen; viewed when enough of it was for long enough without a break (M1). */
  judge() {
    const ad = this.ad;
    if (!ad) return;
    const isPageSeen = document.visibilityState === "visible" && !this.action;
    if (this.isOnScreen && isPageSeen && !ad.isRendered) {
      ad.isRendered = true;
      this.shownAt = performance.now();
      this.impression("RENDERED", ad);
    }
    if (this.fraction >= this.pacing.fraction && isPageSeen && !ad.isViewed) {
      this.viewing ??= setTimeout(() => {
        this.viewing = undefined;
        this.look(this.observer.takeRecords());
        if (this.ad !== ad || ad.isViewed || this.fraction < this.pacing.fraction) return;
        ad.isViewed = true;
        this.impression("VIEWED", ad);
        this.tell("view", { serveId: ad.serveId });
        this.refreshLater();
      }, this.pacing.view + 1);
    } else {
      clearTimeout(this.viewing);
      this.viewing = undefined;
    }
  }

  /** Only an ad that was seen makes room for the next, counted from its request and from when it came on screen. */
  refreshLater() {
    this.loadLater(Math.max(this.askedAt, this.shownAt) + this.pacing.refresh - performance.now());
  }

  /** Its content is gone: replaced, expired, or the page is left. */
  unload() {
    const ad = this.ad;
    if (!ad) return;
    clearTimeout(this.expiry);
    clearTimeout(this.viewing);
    this.viewing = undefined;
    this.observer.disconnect();
    this.ad = undefined;
    this.fraction = 0;
    this.isOnScreen = false;
    URL.revokeObjectURL(ad.picture);
    this.element.replaceChildren();
    this.ended(ad);
    this.tell("unload", { serveId: ad.serveId });
  }

  // What is tapped

  click(kind, ad, age, more = {}) {
    this.reporter.add({ click: { kind: `KIND_${kind}`, token: ad.token, ageMilliseconds: age, ...more } }, ad.clientKey);
  }

  tapped() {
    const ad = this.ad;
    if (!ad || this.action || !this.isOnScreen) return;
    const age = this.age(ad);
    const { kind, destination } = ad.action;
    if (!this.tell("action", { destination }, { cancelable: true })) return this.click("BLOCKED", ad, age);
    if (kind === "KIND_LEAVE") {
      this.click("CLICK", ad, age, { leftApplication: true });
      this.reporter.flush();
      open(destination, "_blank", "noopener");
      return;
    }
    this.cover(ad, age, destination);
  }

  /** Shows the destination over the page. The click is complete after some seconds, or when it is closed before (M7). */
  cover(ad, age, destination) {
    const began = performance.now();
    const dialog = document.createElement("dialog");
    dialog.style.cssText = "padding: 0; border: 0; width: min(90vw, 60rem); height: 85vh";
    const close = document.createElement("button");
    close.type = "button";
    close.textContent = "Close";
    close.style.cssText = "display: block; width: 100%; height: 2.5rem";
    close.addEventListener("click", () => dialog.close());
    const frame = document.createElement("iframe");
    frame.src = destination;
    frame.title = "Advertisement";
    frame.referrerPolicy = "no-referrer";
    frame.sandbox = "allow-scripts allow-forms allow-popups";
    frame.style.cssText = "border: 0; width: 100%; height: calc(100% - 2.5rem)";
    dialog.append(close, frame);
    const lasted = () => String(Math.floor(performance.now() - began));
    const complete = () => {
      if (this.action.isTold) return;
      this.action.isTold = true;
      this.click("CLICK", ad, age, { actionMilliseconds: lasted() });
    };
    this.action = { dialog, ad, age, lasted, timer: setTimeout(complete, this.pacing.action + 1) };
    dialog.addEventListener("close", () => {
      clearTimeout(this.action.timer);
      complete();
      this.action = undefined;
      dialog.remove();
      this.tell("finish", { serveId: ad.serveId });
      this.judge();
      if (this.isDue) this.loadIfSeen();
    });
    document.body.append(dialog);
    dialog.showModal();
    this.judge();
  }

  /** Ends what covers the page, as the page wants it (D9). */
  cancelAction() {
    const action = this.action;
    if (!action) return;
    this.click("CANCELLED", action.ad, action.age, { actionMilliseconds: action.lasted() });
    action.dialog.close();
  }
}
