-- Runs in Kong before a route is looked for: what must hold before Kong may ask its plugin server.
-- kong_config.ts puts `settings` above this text.

-- Which plugins are there? A frame of the plugin protocol: four bytes of length, then a call (RpcCall of pluginsocket.proto) with
-- the sequence number 1 and the empty command 31.
local QUESTION = "\5\0\0\0\8\1\250\1\0"

-- A plugin server that does not accept, and one that accepts and is stopped, must not be asked to judge: Kong 2.8 would wait on
-- that worker and route for ever, also after the plugin server is back. So it has to answer a harmless question first.
local function plugin_server_answers()
  local socket = ngx.socket.tcp()
  socket:settimeouts(settings.answer_ms, settings.answer_ms, settings.answer_ms)
  -- Without a pool of its own this would take connections that Kong keeps.
  local connected = socket:connect("unix:" .. settings.socket, { pool = "portolan-guard" })
  local length = connected and socket:send(QUESTION) and socket:receive(4)
  socket:close()
  return length ~= nil
end

local function refuse(status, message)
  return kong.response.exit(status, { message = message }, { ["Cache-Control"] = "no-store" })
end

return function()
  local headers, problem = ngx.req.get_headers(settings.headers_max)
  if problem == "truncated" then
    return refuse(431, "too many headers")
  end
  -- Readers disagree on where such a body ends (RFC 9112 section 6.3). nginx closes the connection after a 400 of its own, so that
  -- what follows is not read as a second request.
  if headers["content-length"] and headers["transfer-encoding"] then
    return ngx.exit(400)
  end
  for name, value in pairs(headers) do
    if type(value) == "table" then
      -- Two hosts or two credentials: the gateway might judge one of them and the upstream use the other.
      if name == "host" or name == "authorization" then
        return ngx.exit(400)
      end
      -- Kong 2.8 cannot hand a repeated header line to its plugin server. One line means the same (RFC 9110 section 5.3; for
      -- cookies RFC 6265 section 5.4).
      -- Cleared first, because for some names nginx would set the first of the lines and keep the rest.
      ngx.req.clear_header(name)
      ngx.req.set_header(name, table.concat(value, name == "cookie" and "; " or ", "))
    end
  end
  if not plugin_server_answers() then
    return refuse(503, "authorization is not available")
  end
end
