import type { Context } from 'hono'
import type { Troupe } from '../../../index.ts'
import * as z from '../../../schema/zod.ts'
import { refuse } from '../checks/refusal.ts'
import { acceptedEncoding, acceptsGzip } from '../compression/gzip-response.ts'
import type { HttpApp, HttpEnvironment } from '../http-parts.ts'
import type { DocumentedRoute } from '../routes/route.ts'
import { queryList } from '../routes/route.ts'
import type { SseProducer } from './sse-connection.ts'
import type { ConnectionParts } from './sse-response.ts'
import { connectionOf } from './sse-response.ts'
import type { ServerStreamOptions, Streams } from './streams.ts'
import { createStreams } from './streams.ts'
import type { TimelineFold } from './timeline-feed.ts'
import { newTimelineFold } from './timeline-fold.ts'

/** The parts that streams work with. */
export interface StreamParts extends ConnectionParts {
  options?: Partial<ServerStreamOptions>
  /** Default: the timeline with the views of all patterns. */
  newFold?(troupe: Troupe): Promise<TimelineFold>
}

const SSE = 'text/event-stream'

/** Runs that one connection may follow. */
const MAX_WATCHED = 50
const watchQuery = z.strictObject({
  run: queryList.pipe(z.array(z.string().max(200)).max(MAX_WATCHED)).optional(),
})

const routes: readonly DocumentedRoute[] = [
  {
    method: 'GET',
    path: '/api/runs/:run_id/events',
    summary: 'Follow the events of a run, with `accept: text/event-stream`. `Last-Event-ID` continues after an event.',
    tag: 'runs',
    scope: 'read',
    response: { description: 'Events; the id is the seq. `gone` when the run was deleted.', type: SSE },
  },
  {
    method: 'GET',
    path: '/api/runs/:run_id/timeline',
    summary: 'Follow the timeline of a run. `Last-Event-ID` continues after an event.',
    tag: 'runs',
    scope: 'read',
    response: {
      description:
        '`snapshot` (`{seq, timeline}`), then `changes` (rows that changed), `panels` (ask again) and `gone`.',
      type: SSE,
    },
  },
  {
    method: 'GET',
    path: '/api/changes',
    summary: 'Follow the changes of the lists of runs and questions.',
    tag: 'runs',
    scope: 'read',
    response: { description: '`runs` (`{run_ids}` that changed) and `inbox` (`{open}` questions).', type: SSE },
  },
  {
    method: 'GET',
    path: '/api/watch',
    summary:
      'Follow the lists and the timelines of several runs over one connection. `run=ID@SEQ` continues after an event.',
    tag: 'runs',
    scope: 'read',
    query: watchQuery,
    response: {
      description:
        'The events of `/api/changes`, and after a `run` (`{run_id}`) one event of the timeline of that run.',
      type: SSE,
    },
  },
]

/**
 * Adds the streams. Callers are authenticated and have the scope `read`. A request for the events of a run that does not accept
 * `text/event-stream` is passed on. Returns the routes for the OpenAPI document.
 */
export function mountStreams(app: HttpApp, parts: StreamParts): readonly DocumentedRoute[] {
  const streamsOf = openStreams(parts)
  const respond = (context: Context<HttpEnvironment>, produce: SseProducer) => {
    const gzip = acceptsGzip(acceptedEncoding(context))
    return streamsOf(context).respond(produce, { ...connectionOf(context, parts), gzip })
  }

  app.get('/api/runs/:run_id/events', async (context, next) => {
    if (!context.req.header('accept')?.includes(SSE)) return next()
    const after = lastEventId(context) ?? 0
    const { run_id, head } = await context.get('troupe').getRun(context.req.param('run_id'))
    if (after > head) throw unknownEventId(head)
    return respond(context, streamsOf(context).events(run_id, after))
  })
  app.get('/api/runs/:run_id/timeline', async (context) => {
    const after = lastEventId(context)
    const { run_id } = await context.get('troupe').getRun(context.req.param('run_id'))
    return respond(context, streamsOf(context).timeline(run_id, after))
  })
  app.get('/api/changes', (context) => respond(context, streamsOf(context).lists()))
  app.get('/api/watch', (context) => respond(context, streamsOf(context).combined(watchedRuns(context))))
  return routes
}

/** The streams of each project, opened for its first client. */
function openStreams({
  signal,
  options,
  newFold = newTimelineFold,
}: StreamParts): (context: Context<HttpEnvironment>) => Streams {
  const opened = new Map<Troupe, Streams>()
  const close = () => {
    for (const streams of opened.values()) streams.close()
  }
  signal.addEventListener('abort', close, { once: true })
  return (context) => {
    const troupe = context.get('troupe')
    const streams = opened.get(troupe) ?? createStreams({ troupe, newFold: () => newFold(troupe), options })
    opened.set(troupe, streams)
    return streams
  }
}

function watchedRuns(context: Context): Map<string, number | undefined> {
  const runs = (context.req.queries('run') ?? []).flatMap((value) => value.split(',')).filter((value) => value !== '')
  if (runs.length > MAX_WATCHED)
    throw refuse(400, {
      code: 'invalid_input',
      message: `query: \`run\` names ${runs.length} runs`,
      hint: `follow at most ${MAX_WATCHED} over one connection`,
    })
  return new Map(
    runs.map((value) => {
      const [, run_id = value, seq] = /^(.*)@(\d{1,15})$/s.exec(value) ?? []
      return [run_id, seq === undefined ? undefined : Number(seq)]
    }),
  )
}

function lastEventId(context: Context): number | undefined {
  const id = context.req.header('last-event-id')
  if (id === undefined || id === '') return undefined
  if (/^\d{1,15}$/.test(id)) return Number(id)
  throw refuse(400, {
    code: 'invalid_input',
    message: '`Last-Event-ID` is not the seq of an event',
    hint: 'send the `id` of the last event that you have, or leave the header out',
  })
}

function unknownEventId(head: number) {
  return refuse(400, {
    code: 'invalid_input',
    message: `\`Last-Event-ID\` is beyond the last event of the run (${head})`,
    hint: 'connect without the header to get all events',
  })
}
