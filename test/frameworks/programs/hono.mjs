import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { create } from './troupe.mjs'

const app = new Hono()
app.mount('/agents', await create())
serve({ fetch: app.fetch, port: Number(process.env.PORT), hostname: '127.0.0.1' })
