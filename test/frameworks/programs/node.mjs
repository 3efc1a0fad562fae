import { createServer } from 'node:http'
import { create, toNodeListener } from './troupe.mjs'

createServer(toNodeListener(await create())).listen(Number(process.env.PORT), '127.0.0.1')
