import express from 'express'
import { create, toNodeListener } from './troupe.mjs'

const app = express()
app.use(express.json())
app.use('/agents', toNodeListener(await create()))
app.listen(Number(process.env.PORT), '127.0.0.1')
