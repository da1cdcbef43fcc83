//! Chromium by its DevTools protocol over two pipes: real clicks, wheels and keys, and everything that a page complains of.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a test that cannot go on has failed")]

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// A browser that has said nothing for this long hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// Stores every chart by its name, so that a test can query it. The page itself has no test code.
const REMEMBER_CHARTS: &str = "
    window.charts = {};
    let library;
    Object.defineProperty(window, 'echarts', { configurable: true, get: () => library, set: (v) => {
        library = { ...v, init(place, ...rest) { return (window.charts[place.dataset.chart || place.dataset.part] = v.init(place, ...rest)); } };
    } });";

/// The browser's name, where one is installed. Looked for once per process.
pub fn name() -> Option<&'static str> {
    static FOUND: OnceLock<Option<&str>> = OnceLock::new();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let works = |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success());
    let found = *FOUND.get_or_init(|| names.into_iter().find(works));
    if found.is_none() {
        crate::skip("needs chromium to try the HTML report in");
    }
    found
}

/// Browsers for the next tests: a browser takes a second of processor time to start. The end of this process closes their pipes, and so
/// ends them.
static IDLE: Mutex<Vec<Running>> = Mutex::new(Vec::new());

/// The shell of a browser removes the browser's folder after its end.
const SHELL: &str = "\"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1; rm -rf \"$0\"";

/// A browser without a page, and its private folder.
struct Running {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    folder: PathBuf,
    last_id: u64,
}

impl Running {
    fn start(test: &str) -> Option<Running> {
        let name = name()?;
        let folder = std::env::temp_dir().join(format!("plimsoll-html-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        // The protocol uses descriptors 3 and 4; the browser's own output is discarded.
        let mut child = Command::new("sh")
            .args(["-c", SHELL])
            .arg(&folder)
            .arg(name)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe"])
            .args(["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--proxy-server=127.0.0.1:9"])
            .arg(format!("--user-data-dir={}", folder.join("profile").display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (to, out) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, from) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(out).split(0) {
                let Ok(bytes) = message else { break };
                if sender.send(serde_json::from_slice(&bytes).unwrap()).is_err() {
                    break;
                }
            }
        });
        Some(Running { child, to, from, folder, last_id: 0 })
    }

    /// Asks the browser to end, and kills it if it has not ended after 10 s. Its child processes then end, too.
    fn end(mut self) {
        let _ = self.to.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let end = Instant::now() + Duration::from_secs(10);
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A browser with one page, without a network, and with a folder. Dropping it closes the page; the next test gets the browser.
pub struct Browser {
    /// None once it is dropped.
    running: Option<Running>,
    is_shared: bool,
    /// The page.
    target: Value,
    session: String,
    /// Messages of the browser since the page was requested.
    events: Vec<Value>,
    /// Beginning of the addresses that the page may request.
    site: String,
}

impl Browser {
    /// Opens a page in an idle browser, or in a new one; `None` where none is installed.
    pub fn start(test: &str) -> Option<Browser> {
        let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Some(Browser::attached(idle.or_else(|| Running::start(test))?, true))
    }

    /// The same in a browser that no other test uses, so that no other test changes its network.
    pub fn start_alone(test: &str) -> Option<Browser> {
        Some(Browser::attached(Running::start(test)?, false))
    }

    fn attached(running: Running, is_shared: bool) -> Browser {
        let mut browser = Browser {
            running: Some(running),
            is_shared,
            target: Value::Null,
            session: String::new(),
            events: Vec::new(),
            site: "file:".to_owned(),
        };
        browser.attach();
        browser
    }

    fn attach(&mut self) {
        self.target = self.call("Target.createTarget", json!({ "url": "about:blank" }))["targetId"].clone();
        let to = json!({ "targetId": self.target, "flatten": true });
        self.session = self.call("Target.attachToTarget", to)["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log", "Network", "DOM"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
        let offline = json!({ "offline": true, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0 });
        self.call("Network.emulateNetworkConditions", offline);
        self.call("Page.addScriptToEvaluateOnNewDocument", json!({ "source": REMEMBER_CHARTS }));
        self.size(1360, 900);
    }

    /// Sends a command and waits for its answer; stores other messages.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        let running = self.running.as_mut().unwrap();
        running.last_id += 1;
        let id = running.last_id;
        let mut message = json!({ "id": id, "method": method, "params": params });
        if !self.session.is_empty() {
            message["sessionId"] = self.session.clone().into();
        }
        let mut bytes = serde_json::to_vec(&message).unwrap();
        bytes.push(0);
        running.to.write_all(&bytes).unwrap();
        running.to.flush().unwrap();
        let answer = self.wait(method, |message| message["id"] == id);
        assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
        answer["result"].clone()
    }

    fn wait(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let from = &self.running.as_ref().unwrap().from;
            let message = from.recv_timeout(left).unwrap_or_else(|error| panic!("{what}: {error}"));
            if wanted(&message) {
                return message;
            }
            self.events.push(message);
        }
    }

    /// Opens a page from disk and waits until it has loaded.
    pub fn open(&mut self, page: &str) {
        let path = self.folder().join("report.html");
        std::fs::write(&path, page).unwrap();
        self.site = "file:".to_owned();
        self.go_to(&format!("file://{}", path.display()));
    }

    /// Opens a page of a server on loopback, which is all of the network that there is, and waits until it has loaded.
    pub fn visit(&mut self, address: &str) {
        let online = json!({ "offline": false, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1 });
        self.call("Network.emulateNetworkConditions", online);
        self.site = address.to_owned();
        self.go_to(address);
    }

    fn go_to(&mut self, address: &str) {
        self.events.clear();
        self.call("Page.navigate", json!({ "url": address }));
        if !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            self.wait("loading", |message| message["method"] == "Page.loadEventFired");
        }
    }

    /// A window of `width` × `height` CSS pixels.
    pub fn size(&mut self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// The reader's system settings: `screen` or `print`, `light` or `dark`.
    pub fn media(&mut self, media: &str, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", json!({ "media": media, "features": features }));
        self.next_frame();
    }

    /// Waits until the page has drawn: wheels and changes of the theme come to it with a frame.
    pub fn next_frame(&mut self) {
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))");
    }

    /// The value of an expression in the page.
    pub fn value(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", asked);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// Waits until an expression in the page is true.
    pub fn wait_until(&mut self, expression: &str) {
        let end = Instant::now() + PATIENCE;
        while self.value(&format!("Boolean({expression})")) != true {
            let text = "document.body.innerText.slice(0, 2000)";
            assert!(Instant::now() < end, "not so: {expression}\n{}", self.value(text));
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Scrolls the element into sight and gives its middle.
    pub fn middle(&mut self, element: &str) -> (f64, f64) {
        let middle = self.value(&format!(
            "(() => {{ const e = {element}; e.scrollIntoView({{ block: 'center', behavior: 'instant' }}); \
             const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})()"
        ));
        (middle[0].as_f64().unwrap(), middle[1].as_f64().unwrap())
    }

    /// Presses and releases the mouse on the element.
    pub fn click(&mut self, element: &str) {
        let (x, y) = self.middle(element);
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    /// Presses the mouse at one place and releases it at another.
    pub fn drag(&mut self, from: (f64, f64), to: (f64, f64)) {
        for (kind, (x, y)) in [("mousePressed", from), ("mouseMoved", to), ("mouseReleased", to)] {
            let event = json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    /// Moves the mouse.
    pub fn mouse_to(&mut self, x: f64, y: f64) {
        self.call("Input.dispatchMouseEvent", json!({ "type": "mouseMoved", "x": x, "y": y }));
    }

    /// Iterations the wheel with the control key held, as zooming asks for.
    pub fn wheel_with_control(&mut self, (x, y): (f64, f64), down: f64) {
        self.mouse_to(x, y);
        let event = json!({ "type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": down, "modifiers": 2 });
        self.call("Input.dispatchMouseEvent", event);
    }

    /// Presses a key where the focus is.
    pub fn key(&mut self, key: &str, code: u32) {
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({ "type": kind, "key": key, "windowsVirtualKeyCode": code });
            if kind == "keyDown" && key.chars().count() == 1 {
                event["text"] = key.into();
            } else if kind == "keyDown" && key == "Enter" {
                event["text"] = "\r".into();
            }
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Everything that the page complained of, and everything that it asked a network for.
    pub fn complaints(&mut self) -> Vec<String> {
        // Earlier events have arrived when this answer has.
        self.value("1");
        let outside = |event: &Value| {
            let url = event["params"]["request"]["url"].as_str().unwrap_or_default();
            !url.starts_with(&self.site) && !url.starts_with("data:")
        };
        let bad = |event: &&Value| match event["method"].as_str().unwrap_or_default() {
            "Runtime.consoleAPICalled" | "Runtime.exceptionThrown" | "Log.entryAdded" => true,
            "Network.requestWillBeSent" => outside(event),
            _ => false,
        };
        self.events.iter().filter(bad).map(Value::to_string).collect()
    }

    /// Memory that the largest process of a page has in the machine, bytes: without the pages of the browser's program files, which all its
    /// processes share, and of which it reads more and more. 0 where the system does not say.
    pub fn resident_bytes(&self) -> u64 {
        let folder = self.folder().display().to_string();
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
        let is_page = |process: &PathBuf| {
            let command = std::fs::read(process.join("cmdline")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command);
            command.contains("--type=renderer") && command.contains(&folder)
        };
        processes.filter(is_page).map(|process| resident_bytes(&process)).max().unwrap_or(0)
    }

    /// The page, or as much of it as `height` pixels hold, as PNG.
    pub fn picture(&mut self, file: &Path) {
        let png = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        write_base64(file, &png["data"]);
    }

    /// A part of the page, in CSS pixels, as PNG: left edge, top edge, width and height.
    pub fn picture_of(&mut self, file: &Path, (x, y, width, height): (f64, f64, f64, f64)) {
        let clip = json!({ "x": x, "y": y, "width": width, "height": height, "scale": 1 });
        let png = self.call("Page.captureScreenshot", json!({ "format": "png", "clip": clip }));
        write_base64(file, &png["data"]);
    }

    /// The page on paper.
    pub fn print(&mut self, file: &Path) {
        let pdf = self.call("Page.printToPDF", json!({ "printBackground": true, "preferCSSPageSize": true }));
        write_base64(file, &pdf["data"]);
    }

    /// A folder for the test's files, removed with the browser.
    pub fn folder(&self) -> &Path {
        &self.running.as_ref().unwrap().folder
    }
}

fn resident_bytes(process: &Path) -> u64 {
    let status = std::fs::read_to_string(process.join("status")).unwrap_or_default();
    let kilobytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0)
    };
    (kilobytes("RssAnon:") + kilobytes("RssShmem:")) << 10
}

fn write_base64(file: &Path, data: &Value) {
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::STANDARD.decode(data.as_str().unwrap()).unwrap();
    std::fs::write(file, bytes).unwrap();
}

impl Drop for Browser {
    fn drop(&mut self) {
        // After a failure, the browser may not answer.
        let is_shared = self.is_shared && !std::thread::panicking();
        if is_shared {
            self.session.clear();
            let page = json!({ "targetId": self.target });
            self.call("Target.closeTarget", page);
        }
        match self.running.take() {
            Some(running) if is_shared => IDLE.lock().unwrap_or_else(PoisonError::into_inner).push(running),
            Some(running) => running.end(),
            None => {}
        }
    }
}
