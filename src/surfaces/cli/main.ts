#!/usr/bin/env node
import { enableCompileCache } from 'node:module'

enableCompileCache()
const { main } = await import('./program.ts')
process.exitCode = await main(process.argv.slice(2))
