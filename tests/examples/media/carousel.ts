// Shows the exact requests that a carousel would send, and sends nothing: no account is needed.
import { createMedia } from "portolan/media"

const media = createMedia({
  graphUrl: "https://graph.facebook.com",
  apiVersion: "v25.0",
  accountId: "17841400008460056",
  accessToken: "not-shown",
})

const { requests, warnings, containers } = await media.plan(
  {
    kind: "carousel",
    caption: "Three harbours",
    items: ["genoa", "lisbon", "bergen"].map((name) => ({
      kind: "image",
      imageUrl: `https://cdn.example.com/${name}.jpg`,
    })),
  },
  // With the call that would publish it.
  { publish: true },
)
for (const { method, target } of requests) console.log(method, target)
console.log(JSON.stringify({ containers, warnings: warnings.length }))

await media.close()
