// A place to drop files. Each file is sent in parts, so that it continues where a lost connection left off. The server
// knows which files are complete: `data.files` lists them, and a trigger asks for the page to be drawn anew.
const PART_BYTES = 8 * 2 ** 20;
const AT_ONCE = 3;
const STALLED_MS = 30_000; // without a byte sent or an answer
const LONGEST_PAUSE_MS = 15_000;
const GIVE_UP_MS = 5 * 60_000;
const AGAIN_MS = 1500;
const MOST_ASKED = 3;
const LOST = [0, 502, 503, 504]; // no answer, or that of a proxy whose server is away

const ZONES = "recdashFileZones"; // uploads go on while their page is drawn anew or another page is shown
const zoneOf = (name) => {
  const zones = (window[ZONES] ??= new Map());
  if (!zones.has(name)) zones.set(name, { tasks: [], removed: new Map(), rows: new Map(), told: 0 });
  return zones.get(name);
};

const bytes = (n) => {
  if (n < 2 ** 10) return `${n} bytes`;
  const [unit, size] = n >= 2 ** 30 ? ["GB", 2 ** 30] : n >= 2 ** 20 ? ["MB", 2 ** 20] : ["KB", 2 ** 10];
  return `${(n / size).toFixed(1)} ${unit}`;
};

// ── sending ──────────────────────────────────────────────────────────────────────────────────

class Refused extends Error {
  constructor(answer) {
    super(answer.responseText.trim().slice(0, 300));
    this.status = answer.status;
  }
}
class Lost extends Error {}

const call = (task, method, address, body, headers = {}) =>
  new Promise((resolve, reject) => {
    const request = (task.request = new XMLHttpRequest());
    let stalled;
    const watch = () => {
      clearTimeout(stalled);
      stalled = setTimeout(() => request.abort(), STALLED_MS);
    };
    request.open(method, new URL(address, location.href));
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.onprogress = (event) => {
      watch();
      task.onProgress?.(event.loaded);
    };
    request.onloadend = () => {
      clearTimeout(stalled);
      if (LOST.includes(request.status)) reject(new Lost(request.responseText));
      else resolve(request);
    };
    watch();
    request.send(body);
  });

const checked = (answer) => {
  if (answer.status >= 400) throw new Refused(answer);
  return answer.responseText ? JSON.parse(answer.responseText) : {};
};

// crypto.randomUUID is missing where the dashboard is not opened with HTTPS.
const newId = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (n) => n.toString(16).padStart(2, "0")).join("");

// The id is made here: where the answer is lost, the server has the file, and is asked for the same one again.
const announce = async (zone, task) => {
  const { name, size } = task.file;
  const address = zone.data.address;
  if (!task.address?.startsWith(`${address}/`)) task.address = `${address}/${newId()}`;
  const id = task.address.slice(address.length + 1);
  const facts = JSON.stringify({ id, name, size, zone: zone.data.zone });
  const { received } = checked(await call(task, "POST", address, facts));
  Object.assign(task, { id, sent: received });
};

const sendPart = async (zone, task) => {
  const start = task.sent;
  task.onProgress = (loaded) => {
    task.shown = Math.min(start + loaded, task.file.size);
    draw(zone);
  };
  const part = task.file.slice(start, start + PART_BYTES);
  const answer = await call(task, "PATCH", task.address, part, { "Upload-Offset": String(start) });
  if (answer.status === 409) return askReceived(task);
  task.sent = checked(answer).received;
};

const askReceived = async (task) => {
  task.sent = checked(await call(task, "GET", task.address)).received;
};

const pause = (task, ms) =>
  new Promise((resolve) => {
    const go = () => {
      clearTimeout(timer);
      window.removeEventListener("online", go);
      resolve();
    };
    const timer = setTimeout(go, ms);
    window.addEventListener("online", go);
    task.wake = go;
  });

const send = async (zone, task) => {
  let lostAt = null;
  let pauseMs = 1000;
  const isGoing = () => ["sending", "lost"].includes(task.state);
  while (isGoing()) {
    try {
      if (!task.id) await announce(zone, task);
      else if (task.state === "lost") await askReceived(task);
      [task.state, lostAt, pauseMs] = isGoing() ? ["sending", null, 1000] : [task.state, lostAt, pauseMs];
      task.shown = task.sent;
      if (isGoing() && task.sent < task.file.size) await sendPart(zone, task);
      if (isGoing() && task.sent >= task.file.size) task.state = "sent";
    } catch (problem) {
      if (!isGoing()) break;
      lostAt ??= Date.now();
      const isOver = Date.now() - lostAt > GIVE_UP_MS;
      if (problem instanceof Lost && !isOver) {
        task.state = "lost";
        draw(zone);
        await pause(task, pauseMs);
        pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
      } else {
        task.state = "failed";
        task.isUnknown = [403, 404].includes(problem.status); // as after a restart: the page may get a new address
        task.problem = problem instanceof Lost ? problem.message.trim() || "The connection was lost." : problem.message;
      }
    }
    draw(zone);
  }
  if (task.state === "cancelled" && task.address) await drop(task.address);
  begin(zone);
};

const drop = async (address) => {
  for (let pauseMs = 1000; pauseMs <= LONGEST_PAUSE_MS; pauseMs *= 2) {
    try {
      return await call({}, "DELETE", address);
    } catch {
      await pause({}, pauseMs);
    }
  }
};

// Starts what waits; once nothing is sent any more the page is drawn with the files that arrived.
const begin = (zone) => {
  zone.tasks = zone.tasks.filter((task) => task.state !== "cancelled");
  const active = zone.tasks.filter((task) => ["sending", "lost"].includes(task.state));
  for (const task of zone.tasks.filter((task) => task.state === "waiting").slice(0, AT_ONCE - active.length)) {
    task.state = "sending";
    active.push(task);
    send(zone, task);
  }
  if (!active.length) redraw(zone);
  draw(zone);
};

// What the server still does not show, or still shows, after some answers has gone, or has stayed there.
const redraw = (zone) => {
  const known = new Set(zone.data.files.map(({ id }) => id));
  if (zone.tasks.some(({ state }) => ["waiting", "sending", "lost"].includes(state))) return;
  const arrived = zone.tasks.filter(({ id, state }) => state === "sent" && !known.has(id));
  const unknown = zone.tasks.filter(({ state, isUnknown, asked }) => state === "failed" && isUnknown && asked < MOST_ASKED);
  for (const task of [...arrived, ...unknown]) task.asked += 1;
  zone.tasks = zone.tasks.filter(({ asked }) => !(asked > MOST_ASKED));
  for (const [id, asked] of zone.removed) {
    if (!known.has(id) || asked >= MOST_ASKED) zone.removed.delete(id);
    else zone.removed.set(id, asked + 1);
  }
  if (arrived.length || unknown.length || zone.removed.size) zone.trigger("changed", (zone.told += 1));
};

// A trigger is lost where the page's own connection is away.
const redrawAgain = (zone) => {
  const { testScriptState, testConnectionState } = document.querySelector("[data-testid=stApp]")?.dataset ?? {};
  if (testScriptState === "notRunning" && testConnectionState === "CONNECTED") redraw(zone);
};

// ── what the person does ─────────────────────────────────────────────────────────────────────

const add = (zone, files) => {
  const chosen = zone.data.multiple ? [...files] : [...files].slice(0, 1);
  if (!chosen.length) return;
  if (!zone.data.multiple) rowsOf(zone).forEach((row) => remove(zone, row));
  for (const file of chosen) {
    zone.tasks.push({ key: `task-${(zone.told += 1)}`, file, state: "waiting", sent: 0, shown: 0, asked: 0, id: null });
  }
  begin(zone);
};

const remove = async (zone, { task, id }) => {
  zone.status.textContent = "";
  if (task && task.state !== "sent") {
    const isRunning = ["sending", "lost"].includes(task.state);
    task.state = "cancelled";
    task.request?.abort();
    task.wake?.();
    if (!isRunning && task.address) drop(task.address);
    begin(zone);
    return;
  }
  zone.removed.set(id, 0);
  zone.tasks = zone.tasks.filter((other) => other !== task);
  draw(zone);
  await drop(`${zone.data.address}/${id}`);
  redraw(zone);
};

const retry = (zone, task) => {
  Object.assign(task, { state: "waiting", asked: 0 });
  if (task.id) task.state = "lost"; // it asks how much has arrived
  if (task.state === "lost") send(zone, task);
  begin(zone);
};

// ── drawing ──────────────────────────────────────────────────────────────────────────────────

const element = (tag, className, properties = {}) =>
  Object.assign(document.createElement(tag), { className, ...properties });

const rowsOf = (zone) => {
  const byId = new Map(zone.tasks.filter((task) => task.id).map((task) => [task.id, task]));
  const stored = zone.data.files.filter(({ id }) => !zone.removed.has(id));
  const known = new Set(stored.map(({ id }) => id));
  return [
    ...stored.map(({ id, name, size }) => ({ key: byId.get(id)?.key ?? id, id, name, size, task: byId.get(id) })),
    ...zone.tasks
      .filter((task) => !known.has(task.id) && task.state !== "cancelled")
      .map((task) => ({ key: task.key, id: task.id, name: task.file.name, size: task.file.size, task })),
  ];
};

const says = ({ task, size }) => {
  const percent = task?.file.size ? Math.floor((100 * task.shown) / task.file.size) : 0;
  const states = {
    waiting: `waiting, ${bytes(size)}`,
    sending: `${percent} % of ${bytes(size)}`,
    lost: `${percent} % of ${bytes(size)}; connection lost, trying again`,
    failed: `not uploaded. ${task?.problem ?? ""}`,
  };
  return states[task?.state] ?? bytes(size);
};

const newRow = (zone) => {
  const [row, text] = [element("li", "rd-drop-file"), element("span", "rd-drop-text")];
  const name = element("bdi", "");
  const [state, bar] = [element("small", ""), element("progress", "", { max: 1 })];
  const [again, away] = ["Retry", "Remove"].map((words) => element("button", "", { type: "button", textContent: words }));
  text.append(name, state);
  row.append(text, bar, again, away);
  const parts = { row, name, state, bar, again, away };
  again.onclick = () => retry(zone, parts.shown.task);
  away.onclick = () => {
    zone.button.focus();
    remove(zone, parts.shown);
  };
  return parts;
};

const drawRow = (parts, shown) => {
  const state = shown.task?.state;
  const isGoing = ["waiting", "sending", "lost"].includes(state);
  parts.shown = shown;
  parts.row.dataset.state = isGoing ? state : state === "failed" ? "failed" : "complete";
  parts.name.textContent = parts.name.title = shown.name;
  parts.state.textContent = says(shown);
  parts.bar.hidden = !isGoing;
  parts.bar.value = shown.task?.file.size ? shown.task.shown / shown.task.file.size : 0;
  parts.bar.setAttribute("aria-label", `Uploading ${shown.name}`);
  parts.again.hidden = state !== "failed";
  parts.away.textContent = isGoing ? "Cancel" : "Remove";
  for (const button of [parts.again, parts.away]) {
    button.setAttribute("aria-label", `${button.textContent} ${shown.name}`);
  }
};

const draw = (zone) => {
  if (!zone.list) return;
  const rows = rowsOf(zone);
  const keys = new Set(rows.map(({ key }) => key));
  for (const [key, parts] of zone.rows) {
    if (keys.has(key)) continue;
    parts.row.remove();
    zone.rows.delete(key);
  }
  for (const shown of rows) {
    if (!zone.rows.has(shown.key)) {
      zone.rows.set(shown.key, newRow(zone));
      zone.list.append(zone.rows.get(shown.key).row);
    }
    drawRow(zone.rows.get(shown.key), shown);
  }
  zone.list.hidden = !rows.length;
  const problems = zone.tasks.filter(({ state }) => ["lost", "failed"].includes(state));
  const words = problems.map((task) => `${task.file.name}: ${task.state === "lost" ? "connection lost" : says({ task })}`);
  const told = words.join(". ");
  if (zone.status.textContent !== told) zone.status.textContent = told;
};

const build = (zone, parent) => {
  const box = element("div", "rd-drop");
  box.setAttribute("role", "group");
  const label = element("span", "rd-drop-label", { id: `label-${zone.data.zone}`, textContent: zone.data.label });
  box.setAttribute("aria-labelledby", label.id);
  const input = element("input", "", { type: "file", multiple: zone.data.multiple, hidden: true });
  input.dataset.testid = "file-zone-input";
  const button = element("button", "rd-drop-choose", { type: "button" });
  button.textContent = zone.data.multiple ? "Choose files" : "Choose a file";
  button.setAttribute("aria-describedby", label.id);
  const area = element("div", "rd-drop-area");
  zone.list = element("ul", "rd-drop-files");
  zone.status = element("span", "rd-unseen");
  zone.status.setAttribute("role", "status");
  zone.button = button;
  zone.rows.clear();
  button.onclick = () => input.click();
  input.onchange = () => {
    add(zone, input.files);
    input.value = "";
  };
  const over = (isOver) => (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    area.classList.toggle("rd-drop-over", isOver);
  };
  area.ondragover = over(true);
  area.ondragleave = over(false);
  area.ondrop = (event) => {
    over(false)(event);
    add(zone, event.dataTransfer?.files ?? []);
  };
  area.append(button, input, zone.list);
  box.append(label, area, zone.status);
  parent.replaceChildren(box);
};

export default function ({ data, parentElement, setTriggerValue }) {
  const zone = zoneOf(data.zone);
  const isNew = parentElement !== zone.parent || !parentElement.contains(zone.list);
  Object.assign(zone, { data, parent: parentElement, trigger: setTriggerValue });
  if (isNew) build(zone, parentElement);
  for (const task of zone.tasks) {
    const isOver = ["sent", "failed"].includes(task.state);
    if (!isOver || !task.address || task.address.startsWith(`${data.address}/`)) continue;
    Object.assign(task, { id: null, state: "waiting", sent: 0, shown: 0, asked: 0 }); // the server was restarted without them
  }
  begin(zone);
  clearInterval(zone.again);
  zone.again = setInterval(() => redrawAgain(zone), AGAIN_MS);
  return () => clearInterval(zone.again);
}
