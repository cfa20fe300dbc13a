// The search of Material runs in a Worker, which browsers do not start for a page that was opened as a file. There, a hidden frame takes
// the Worker's place: the script runs in the frame and exchanges messages with the page. Pages from a server use the browser's own Worker.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.srcdoc = "";
      this.ready = new Promise((resolve, reject) => {
        this.frame.onload = () => {
          const inside = this.frame.contentWindow;
          inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
          const script = this.frame.contentDocument.createElement("script");
          script.onload = () => resolve(inside);
          script.onerror = reject;
          script.src = url;
          this.frame.contentDocument.head.append(script);
        };
      });
      document.body.append(this.frame);
    }

    postMessage(data) {
      this.ready.then((inside) => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
