import { appendFileSync, existsSync, readFileSync, truncateSync } from 'node:fs'
import { TroupeError } from '../errors.ts'
import type { Cassette, CassetteSink } from './cassette.ts'
import { parseCassette } from './cassette.ts'
import type { ModelPorts } from './cassette-record.ts'
import { recordModels } from './cassette-record.ts'
import { replayModels } from './cassette-replay.ts'
import type { SecretFinder } from './cassette-request.ts'

/** Record every model call into a file, or play one instead of asking models. */
export type CassetteOptions = { record: string } | { replay: string }

/** The ports with a cassette between them and the run. */
export function withCassette(
  on: ModelPorts,
  choice: CassetteOptions | undefined,
  options: { findSecrets: SecretFinder; warn(message: string): void },
): ModelPorts {
  if (!choice) return on
  if ('record' in choice) return recordToFile(choice.record, on, options)
  const cassette = readCassette(choice.replay)
  if (cassette.truncatedLine !== undefined)
    options.warn(`${choice.replay} was cut off in line ${cassette.truncatedLine}`)
  return replayModels(cassette, options)
}

export function readCassette(path: string): Cassette {
  return parseCassette(readCassetteText(path), path)
}

/** Goes on behind what a cassette holds: a resumed run is one recording. A file that is something else is left alone. */
function recordToFile(
  path: string,
  on: ModelPorts,
  options: { findSecrets: SecretFinder; warn(message: string): void },
): ModelPorts {
  const text = existsSync(path) ? readCassetteText(path) : ''
  const existing = text === '' ? undefined : parseCassette(text, path)
  if (existing?.truncatedLine !== undefined)
    truncateSync(path, Buffer.byteLength(text.slice(0, text.lastIndexOf('\n') + 1)))
  appendText(path, text !== '' && existing?.truncatedLine === undefined && !text.endsWith('\n') ? '\n' : '')
  return recordModels(on, createFileSink(path, options.warn), { findSecrets: options.findSecrets, existing })
}

/** A recording that fails costs the cassette, never the run: its answers are paid for. */
function createFileSink(path: string, warn: (message: string) => void): CassetteSink {
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

function appendText(path: string, text: string): void {
  try {
    appendFileSync(path, text)
  } catch (thrown) {
    throw cassetteFileError(path, 'written', thrown)
  }
}

function readCassetteText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (thrown) {
    throw cassetteFileError(path, 'read', thrown)
  }
}

function cassetteFileError(path: string, how: 'read' | 'written', thrown: unknown): TroupeError {
  return new TroupeError('invalid_cassette', `the cassette ${path} cannot be ${how}: ${(thrown as Error).message}`, {
    hint: 'check the path',
    cause: thrown,
  })
}
