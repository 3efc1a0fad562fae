import { afterAll, expect } from 'vitest'

// The files of a worker share a process.
const before = processState()
afterAll(() => expect(processState(), 'the file restores the working folder and the environment').toEqual(before))

function processState(): object {
  return { folder: process.cwd(), env: { ...process.env } }
}
