import { appendFileSync, existsSync, readFileSync, truncateSync } from 'node:fs'
import { TroupeError } from '../errors.ts'
import type { Cassette, CassetteSink } from './cassette.ts'
import { parseCassette } from './cassette.ts'
import type { ModelPorts } from './cassette-record.ts'
import { recording } from './cassette-record.ts'
import { replaying } from './cassette-replay.ts'
import type { SecretsIn } from './cassette-request.ts'

/** Record every model call into a file, or play one instead of asking models. */
export type CassetteChoice = { record: string } | { replay: string }

/** The ports with a cassette between them and the run. */
export function withCassette(
  on: ModelPorts,
  choice: CassetteChoice | undefined,
  options: { secretsIn: SecretsIn; warn(message: string): void },
): ModelPorts {
  if (!choice) return on
  if ('record' in choice) return recordingTo(choice.record, on, options)
  const cassette = readCassette(choice.replay)
  if (cassette.cut !== undefined) options.warn(`${choice.replay} was cut off in line ${cassette.cut}`)
  return replaying(cassette, options)
}

export function readCassette(path: string): Cassette {
  return parseCassette(read(path), path)
}

/** Goes on behind what a cassette holds: a resumed run is one recording. A file that is something else is left alone. */
function recordingTo(
  path: string,
  on: ModelPorts,
  options: { secretsIn: SecretsIn; warn(message: string): void },
): ModelPorts {
  const text = existsSync(path) ? read(path) : ''
  const before = text === '' ? undefined : parseCassette(text, path)
  if (before?.cut !== undefined) truncateSync(path, Buffer.byteLength(text.slice(0, text.lastIndexOf('\n') + 1)))
  append(path, text !== '' && before?.cut === undefined && !text.endsWith('\n') ? '\n' : '')
  return recording(on, sinkOf(path, options.warn), { secretsIn: options.secretsIn, before })
}

/** A recording that fails costs the cassette, never the run: its answers are paid for. */
function sinkOf(path: string, warn: (message: string) => void): CassetteSink {
  let broken = false
  return (line) => {
    if (broken) return
    try {
      appendFileSync(path, `${line}\n`)
    } catch (thrown) {
      broken = true
      warn(`nothing more is recorded in ${path}: ${(thrown as Error).message}`)
    }
  }
}

function append(path: string, text: string): void {
  try {
    appendFileSync(path, text)
  } catch (thrown) {
    throw unusable(path, 'written', thrown)
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (thrown) {
    throw unusable(path, 'read', thrown)
  }
}

function unusable(path: string, how: 'read' | 'written', thrown: unknown): TroupeError {
  return new TroupeError('invalid_cassette', `the cassette ${path} cannot be ${how}: ${(thrown as Error).message}`, {
    hint: 'check the path',
    cause: thrown,
  })
}
