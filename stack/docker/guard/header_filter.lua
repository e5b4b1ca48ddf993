-- Runs in Kong on every answer before it goes to the client. kong_config.ts puts `settings` above this text.

-- The same as nameSet() of domain/gateway/cookies.ts: the name by which a browser sends back what a line sets.
local function name_set(line)
  local name = string.match(line, "^[%c%s=]*([^;=]*)")
  return string.lower((string.gsub(name, "[%c%s]+$", "")))
end

return function()
  -- `stack up` asks every route on every worker before it says that the stack is ready.
  ngx.header["X-Portolan-Worker"] = ngx.worker.id()
  -- The gateway's own answers set its cookies; an upstream must not.
  if kong.response.get_source() ~= "service" then
    return
  end
  local lines = ngx.header["Set-Cookie"] or {}
  if type(lines) == "string" then
    lines = { lines }
  end
  local kept = {}
  for _, line in ipairs(lines) do
    if not settings.cookies[name_set(line)] then
      table.insert(kept, line)
    end
  end
  if #kept < #lines then
    ngx.header["Set-Cookie"] = kept
  end
end
