// What a client of the application does: the same requests, whatever runtime serves it.

/** Creates a record, reads it, lists it and deletes it; tells the status of every answer, and the names in the list. */
export const ask = async (url: string, token: string): Promise<string> => {
  const call = (method: string, path: string, more: RequestInit = {}) =>
    fetch(`${url}${path}`, { method, headers: { authorization: `Bearer ${token}` }, ...more })
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
  const created = await call("POST", "/api/ships", { headers, body: JSON.stringify({ name: "Vasa", length_m: 69 }) })
  const { data }: { readonly data: { readonly id: number } } = JSON.parse(await created.text())
  const read = await call("GET", `/api/ships/${data.id}`)
  const list = await call("GET", "/api/ships")
  const { data: ships }: { readonly data: ReadonlyArray<{ readonly name: string }> } = JSON.parse(await list.text())
  const refused = await fetch(`${url}/api/ships`)
  const removed = await call("DELETE", `/admin/ships/${data.id}`)
  const gone = await call("GET", `/api/ships/${data.id}`)
  const statuses = [created, read, list, refused, removed, gone].map(({ status }) => status)
  return JSON.stringify({ statuses, names: ships.map(({ name }) => name) })
}
