import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Timeline } from '../../src/views/timeline/timeline.ts'
import { buildPage } from '../../web/build.ts'

/* Serves the swimlanes alone with made-up timelines: `/?sample=NAME`. */

export interface LanesServer extends AsyncDisposable {
  url: string
}

export type LanesSamples = Record<string, () => { timeline: Timeline; now: number | null }>

/** The policy of the real page: no inline script or style, no other host. */
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:"

export async function startLanesServer(samples: LanesSamples): Promise<LanesServer> {
  const page = await buildPage('lanes/lanes-page.tsx')
  const types = { 'index.html': 'text/html', 'app.js': 'text/javascript', 'app.css': 'text/css' } as const
  const made = new Map<string, string>()
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost')
    const name = url.pathname === '/' ? 'index.html' : url.pathname.slice(1)
    response.setHeader('content-security-policy', POLICY)
    if (name === 'timeline.json') {
      const wanted = url.searchParams.get('sample') ?? ''
      const sample = samples[wanted]?.()
      const text = made.get(wanted) ?? JSON.stringify({ ...sample, seq: sample?.timeline.run[0]?.head ?? 0 })
      made.set(wanted, text)
      response.setHeader('content-type', 'application/json')
      response.end(text)
    } else if (name in types) {
      response.setHeader('content-type', `${types[name as keyof typeof types]}; charset=utf-8`)
      response.end(page[name as keyof typeof types])
    } else response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
