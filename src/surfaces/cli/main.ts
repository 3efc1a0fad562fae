#!/usr/bin/env node
import * as nodeModule from 'node:module'
import { nodeVersionProblem } from '../../runtime/node-version.ts'

// Before anything else is loaded: on an older Node the other files do not even load.
const problem = nodeVersionProblem(process.versions.node)
if (problem === undefined) {
  nodeModule.enableCompileCache()
  const { main } = await import('./program.ts')
  const { realTerminal } = await import('./terminal.ts')
  const { printWarningsTo } = await import('./inert-output.ts')
  const terminal = realTerminal()
  printWarningsTo(terminal)
  process.exitCode = await main(process.argv.slice(2), terminal)
} else {
  console.error(
    `error: ${problem}\nhint: install it from https://nodejs.org; in a clone use npm run or npx, which bring their own`,
  )
  process.exitCode = 2
}
