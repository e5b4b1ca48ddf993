// A scripted graph, the use cases' services around it, and samples of what they are given.
import { type Context, Effect, Layer } from "effect"
import * as memoryJournal from "../../adapters/driven/publish_journal/memory.ts"
import * as pacing from "../../application/media/graph_pacing.ts"
import type { MediaServices } from "../../bootstrap/media_layers.ts"
import type { CarouselPost, Post } from "../../domain/media/container.ts"
import { type GraphModel, type GraphModelOptions, type ModelAnswer, makeGraphModel } from "./graph_model.ts"
import * as scriptedGraph from "./graph_model_port.ts"

export const ACCOUNT = "17841400008460056"

export interface MediaWorld {
  readonly model: GraphModel
  readonly services: Context.Context<MediaServices>
  readonly run: <A, E>(program: Effect.Effect<A, E, MediaServices>) => Effect.Effect<A, E>
  readonly calls: (operation?: string) => number
}

/** A model and one set of services over it, shared by every program run in this world. */
export const makeMediaWorld = (options: GraphModelOptions = {}): MediaWorld => {
  const model = makeGraphModel(options)
  const layer = Layer.mergeAll(scriptedGraph.layer(model), memoryJournal.layer, pacing.layer)
  const services = Effect.runSync(Effect.scoped(Layer.build(layer)))
  return {
    model,
    services,
    run: (program) => Effect.provideContext(program, services),
    calls: (operation) => model.calls.filter((call) => operation === undefined || call.operation === operation).length,
  }
}

export const IMAGE = { imageUrl: "https://cdn.example.com/a.jpg" }
export const REEL = { kind: "reel", videoUrl: "https://cdn.example.com/r.mp4", caption: "c" } as const satisfies Post

export const image = (n: number) => ({ kind: "image", imageUrl: `https://cdn.example.com/${n}.jpg` }) as const
export const video = (n: number) => ({ kind: "video", videoUrl: `https://cdn.example.com/${n}.mp4` }) as const

export const CAROUSEL: CarouselPost = { caption: "trip", items: [image(1), video(2), image(3)] }

/** The graph's error envelope. */
export const graphError = (status: number, code: number, subcode?: number, more: object = {}): ModelAnswer => ({
  status,
  body: {
    error: {
      message: "no",
      type: "OAuthException",
      code,
      ...(subcode === undefined ? {} : { error_subcode: subcode }),
      ...more,
    },
  },
})

export const unavailable: ModelAnswer = { status: 503, body: "<html>busy</html>" }

/** A failure met for the first `times` calls of an operation. */
export const failFirst = (
  model: GraphModel,
  operation: string,
  times: number,
  answer: ModelAnswer,
  applied = false,
): void => {
  let left = times
  model.setFault((call) =>
    call.operation === operation && left-- > 0 ? { kind: "answer", answer, applied } : undefined,
  )
}
