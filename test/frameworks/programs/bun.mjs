import { create } from './troupe.mjs'

Bun.serve({ fetch: await create(), port: Number(process.env.PORT), hostname: '127.0.0.1', idleTimeout: 0 })
