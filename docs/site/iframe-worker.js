// The search of a page that is opened from a disk: browsers start no worker there, so that a hidden frame does its work.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const load = (source) =>
        new Promise((done, failed) => {
          const script = inside.document.createElement("script");
          script.src = source;
          script.onload = done;
          script.onerror = failed;
          inside.document.head.append(script);
        });
      inside.importScripts = (...sources) =>
        sources.reduce((before, source) => before.then(() => load(source)), Promise.resolve());
      this.ready = load(url);
      this.postMessage = (data) =>
        this.ready.then(() => inside.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {}
  };
}
