// Speaking with the app. The browser says by itself that the page is the app's own, so no credential is kept here.

const API = "/api/_a2app";
export const viewer = crypto.randomUUID?.() ?? String(Math.random()).slice(2);

/** Calls the app: `{ok, status, value}`. Throws only where nothing answers. */
export async function call(method, path, body, headers = {}) {
  const response = await fetch(path, {
    method,
    cache: "no-store",
    headers: { "Content-Type": "application/json", ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const value = await response.json().catch(() => ({}));
  return { ok: response.ok, status: response.status, value };
}

export const records = (entity, id) =>
  `/api/collections/${encodeURIComponent(entity)}/records${id === undefined ? "" : `/${encodeURIComponent(id)}`}`;

/** Who the app is; and says that somebody looks. */
export const identity = () => call("GET", API, undefined, { "X-A2App-Viewer": viewer });

export const describe = (path = "") => call("GET", `${API}/describe${path}?all=true`);

export const describeRecord = (module, entity, id) =>
  call("GET", `${API}/describe/${module}/${entity}/${encodeURIComponent(id)}`);

export const tasks = () => call("GET", `${API}/tasks`);

export const cancelTask = (id) => call("POST", `${API}/tasks/${id}/cancel`, {});

/** Tells what is looked at, so that an agent can be asked about "this". */
export const tellContext = (view, selected) => call("POST", `${API}/context`, { view, selected }).catch(() => {});

export const sayGoodbye = () => navigator.sendBeacon(`${API}?viewer=${encodeURIComponent(viewer)}&leaving=1`);

/** One page of records: `{items, totalItems}`. */
export async function list(entity, { search = "", label = null, sort = "", perPage = 100 } = {}) {
  const query = new URLSearchParams({ perPage });
  if (sort) query.set("sort", sort);
  if (search && label) query.set("filter", `${label} ~ "${search.replace(/["\\]/g, "\\$&")}"`);
  const answer = await call("GET", `${records(entity)}?${query}`);
  if (!answer.ok) throw new Error(answer.value.message);
  return answer.value;
}
