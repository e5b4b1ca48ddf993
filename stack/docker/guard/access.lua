-- Runs in Kong after a route was found and before any other plugin: where the request came from, in the gateway's words.
-- kong_config.ts puts `settings` above this text.
--
-- Kong builds these from what the client sent and writes them over the headers when it asks the upstream. An empty one is not sent.
return function()
  local var = ngx.var
  var.upstream_x_forwarded_for = var.remote_addr
  var.upstream_x_forwarded_proto = settings.public_scheme
  var.upstream_x_forwarded_host = settings.public_host
  var.upstream_x_forwarded_port = ""
  var.upstream_x_forwarded_path = ""
  var.upstream_x_forwarded_prefix = ""
  -- No change of protocol passes the gateway: what comes after it would not be judged.
  var.upstream_connection = "keep-alive"
  var.upstream_upgrade = ""
end
