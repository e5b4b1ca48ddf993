-- Plays, in nginx with its Lua module, what Kong 2.8 does around the texts of the generated kong.yml: their sandbox, the phases,
-- the route, the forwarding variables, and the client side of the plugin protocol, with what was measured of it on real Kong:
-- a repeated header line cannot be handed to the plugin server; an error while an instance is started leaves a claim behind, on
-- which every later request of the route waits for ever; an event that breaks off is only logged.
local cjson = require "cjson"

local played = {}
local config

-- Kong's own functions, as far as the texts and the plugin server use them.

local kong = {
  ctx = setmetatable({}, {
    __index = function(_, name)
      if name == "shared" then
        ngx.ctx.shared = ngx.ctx.shared or {}
        return ngx.ctx.shared
      end
    end,
  }),
  response = {},
}

function kong.response.exit(status, body, headers)
  ngx.ctx.source = "exit"
  ngx.status = status
  for name, value in pairs(headers or {}) do
    ngx.header[name] = value
  end
  if type(body) == "table" then
    ngx.header["Content-Type"] = "application/json; charset=utf-8"
    body = cjson.encode(body)
  end
  ngx.header["Content-Length"] = #(body or "")
  ngx.print(body or "")
  return ngx.exit(status)
end

function kong.response.get_source()
  return ngx.ctx.source or "error"
end

-- What the sandbox of both lines lets a text see (untrusted_lua = sandbox).
local function sandbox(text, name)
  local environment = {
    kong = kong, ngx = ngx, assert = assert, error = error, ipairs = ipairs, next = next, pairs = pairs, pcall = pcall,
    select = select, tonumber = tonumber, tostring = tostring, type = type, unpack = unpack, xpcall = xpcall,
    coroutine = coroutine, math = math, string = string, table = table,
  }
  return setfenv(assert(loadstring(text, name)), environment)
end

-- A text that returns a function is run once to get it.
local function compiled(text, name)
  local func = sandbox(text, name)
  return function()
    local result = func()
    if type(result) == "function" then
      func = result
      func()
    end
  end
end

-- Protocol buffers, by hand.

local function varint(number)
  local bytes = {}
  repeat
    local rest = number % 128
    number = (number - rest) / 128
    table.insert(bytes, string.char(number > 0 and rest + 128 or rest))
  until number == 0
  return table.concat(bytes)
end

local function number_field(at, number)
  return varint(at * 8) .. varint(number)
end

local function bytes_field(at, bytes)
  return varint(at * 8 + 2) .. varint(#bytes) .. bytes
end

-- Number of a field -> its values, in order.
local function fields(message)
  local found, at = {}, 1
  local function next_varint()
    local value, factor = 0, 1
    while true do
      local byte = string.byte(message, at)
      at = at + 1
      value = value + (byte % 128) * factor
      factor = factor * 128
      if byte < 128 then
        return value
      end
    end
  end
  while at <= #message do
    local key = next_varint()
    local value = next_varint()
    if key % 8 == 2 then
      local length = value
      value = string.sub(message, at, at + length - 1)
      at = at + length
    end
    local number = math.floor(key / 8)
    found[number] = found[number] or {}
    table.insert(found[number], value)
  end
  return found
end

local function first(message, at)
  local values = fields(message)[at]
  return values and values[1] or ""
end

local function read_value(message)
  local list = fields(message)[6]
  if list == nil then
    return first(message, 3)
  end
  local values = {}
  for _, each in ipairs(fields(list[1])[1] or {}) do
    table.insert(values, read_value(each))
  end
  return values
end

local function read_struct(message)
  local struct = {}
  for _, entry in ipairs(fields(message)[1] or {}) do
    struct[first(entry, 1)] = read_value(first(entry, 2))
  end
  return struct
end

-- What the plugin server may ask of Kong during an event.
local ASKED = {
  ["kong.request.get_method"] = function()
    return bytes_field(1, ngx.req.get_method())
  end,
  ["kong.nginx.get_var"] = function(args)
    return bytes_field(1, ngx.var[first(args, 1)] or "")
  end,
  ["kong.request.get_headers"] = function(args)
    local entries = {}
    for name, value in pairs((ngx.req.get_headers(first(args, 1)))) do
      if type(value) == "table" then
        error("bad argument: string expected, got table")
      end
      table.insert(entries, bytes_field(1, bytes_field(1, name) .. bytes_field(2, bytes_field(3, value))))
    end
    return table.concat(entries)
  end,
  ["kong.service.request.clear_header"] = function(args)
    ngx.req.clear_header(first(args, 1))
    return ""
  end,
  ["kong.service.request.set_header"] = function(args)
    ngx.req.set_header(first(args, 1), read_value(first(args, 2)))
    return ""
  end,
  ["kong.service.request.set_path"] = function(args)
    ngx.ctx.path = first(args, 1)
    return ""
  end,
  ["kong.ctx.shared.set"] = function(args)
    kong.ctx.shared[first(args, 1)] = read_value(first(args, 2))
    return ""
  end,
  ["kong.response.exit"] = function(args)
    return kong.response.exit(first(args, 1), first(args, 2), read_struct(first(args, 3)))
  end,
}

local function read_frame(socket)
  local head, problem = socket:receive(4)
  if not head then
    return nil, problem
  end
  local a, b, c, d = string.byte(head, 1, 4)
  local length = a + b * 2 ^ 8 + c * 2 ^ 16 + d * 2 ^ 24
  if length == 0 then
    return ""
  end
  return socket:receive(length)
end

local function write_frame(socket, frame)
  local length = #frame
  local head = string.char(length % 256, math.floor(length / 2 ^ 8) % 256, math.floor(length / 2 ^ 16) % 256, 0)
  assert(socket:send(head .. frame))
end

local function call(message, is_event)
  local socket = assert(ngx.socket.connect("unix:" .. config.socket))
  write_frame(socket, number_field(1, 1) .. message)
  while is_event do
    local method, problem = read_frame(socket)
    if not method then
      return nil, problem
    end
    if method == "" then
      break
    end
    local args = read_frame(socket)
    if not args then
      return nil, "closed"
    end
    write_frame(socket, ASKED[method](args))
  end
  local answer, problem = read_frame(socket)
  if not answer then
    return nil, problem
  end
  socket:setkeepalive()
  return answer
end

local instances = {}

local function instance_of(key)
  while instances[key] and not instances[key].id do
    ngx.sleep(0.01)
  end
  if not instances[key] then
    instances[key] = {}
    local answer = call(bytes_field(33, bytes_field(1, "portolan-gate") .. bytes_field(2, "{}")))
    -- An answer that did not come leaves the instance without an id.
    instances[key].id = answer and first(first(answer, 33), 2) or nil
  end
  return instances[key].id or 0
end

local function handle_event(key)
  local instance = instance_of(key)
  local answer, problem = call(bytes_field(36, number_field(1, instance) .. bytes_field(2, "access")), true)
  if not answer then
    ngx.log(ngx.ERR, "the event broke off: ", problem)
  end
end

-- The phases.

function played.init(path)
  local file = assert(io.open(path))
  config = cjson.decode(file:read("*a"))
  file:close()
  for phase, text in pairs(config.guard) do
    config.guard[phase] = compiled(text, phase)
  end
  config.sentinel = compiled(config.sentinel, "sentinel")
end

function played.rewrite()
  -- nginx up to 1.20, which Kong 2.8 is built on, hands on a request with a length and chunks; later ones refuse it themselves.
  if ngx.var.arg_played == "both_lengths" then
    ngx.req.set_header("Transfer-Encoding", "chunked")
  end
  config.guard.rewrite()
end

local function matches(path)
  for _, route in ipairs(config.routes) do
    if ngx.re.find(path, "^" .. route.path, "jo") then
      return route
    end
  end
end

local function forwarding_variables()
  local var = ngx.var
  local before = var.http_x_forwarded_for
  var.upstream_x_forwarded_for = (before and before .. ", " or "") .. var.remote_addr
  var.upstream_x_forwarded_proto = var.scheme
  var.upstream_x_forwarded_host = var.host
  var.upstream_x_forwarded_port = var.server_port
  var.upstream_x_forwarded_path = var.request_uri
  var.upstream_x_forwarded_prefix = "/"
  var.upstream_connection = "keep-alive"
  if string.lower(var.http_upgrade or "") == "websocket" then
    var.upstream_connection = "keep-alive, Upgrade"
    var.upstream_upgrade = "websocket"
  end
end

function played.access()
  local path = string.match(ngx.var.request_uri, "^[^?]*")
  local route = matches(path)
  if not route then
    return kong.response.exit(404, { message = "no Route matched with those values" })
  end
  ngx.ctx.path = path
  forwarding_variables()
  config.guard.access()
  -- Each value of this argument is a route that was never asked before.
  local done, problem = pcall(handle_event, route.name .. (ngx.var.arg_first_use or ""))
  if not done then
    ngx.log(ngx.ERR, problem)
    return kong.response.exit(500, { message = "An unexpected error occurred" })
  end
  config.sentinel()
  ngx.ctx.source = "service"
  ngx.var.upstream_uri = ngx.ctx.path .. (ngx.var.is_args or "") .. (ngx.var.args or "")
end

function played.header_filter()
  config.guard.header_filter()
end

return played
