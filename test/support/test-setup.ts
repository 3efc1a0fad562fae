import fc from 'fast-check'
import { afterAll, expect } from 'vitest'

// Property tests use a fixed seed to be reproducible. FC_SEED overrides it; a failure prints the seed.
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(process.env.FC_SEED ?? 20261115) })

// The files of a worker share a process.
const before = processState()
afterAll(() => expect(processState(), 'the file restores the working folder and the environment').toEqual(before))

function processState(): object {
  return { folder: process.cwd(), env: { ...process.env } }
}
