import { appendFileSync, existsSync, readFileSync, truncateSync } from 'node:fs'
import { TroupeError } from '../errors.ts'
import type { Cassette, CassetteSink } from './cassette.ts'
import { parseCassette } from './cassette.ts'
import type { CassettePorts } from './cassette-record.ts'
import { recordModels } from './cassette-record.ts'
import { replayModels } from './cassette-replay.ts'
import type { SecretFinder } from './cassette-request.ts'

/** Records every model request to the file `record`, or replays the file `replay` instead of calling models. */
export type CassetteOptions = { record: string } | { replay: string }

interface CassetteDeps {
  findSecrets: SecretFinder
  warn(message: string): void
}

/** Wraps the model ports with a cassette, if one is configured. */
export function withCassette(
  ports: CassettePorts,
  options: CassetteOptions | undefined,
  deps: CassetteDeps,
): CassettePorts {
  if (!options) return ports
  if ('record' in options) return recordToFile(options.record, ports, deps)
  const cassette = readCassette(options.replay)
  if (cassette.truncatedLine !== undefined)
    deps.warn(`${options.replay}:${cassette.truncatedLine}: the last line is incomplete`)
  const replayed = replayModels(cassette, deps)
  // Requests are found by their content, and settings are a part of it.
  const { settings } = ports.models
  return settings ? { ...replayed, models: { ...replayed.models, settings: (model) => settings(model) } } : replayed
}

export function readCassette(path: string): Cassette {
  return parseCassette(readCassetteText(path), path)
}

/** Appends to an existing cassette, so a resumed run is one recording. A file that is not a cassette is never overwritten. */
function recordToFile(path: string, ports: CassettePorts, { findSecrets, warn }: CassetteDeps): CassettePorts {
  const text = existsSync(path) ? readCassetteText(path) : ''
  const existing = text === '' ? undefined : parseCassette(text, path)
  if (existing?.truncatedLine !== undefined)
    truncateSync(path, Buffer.byteLength(text.slice(0, text.lastIndexOf('\n') + 1)))
  appendText(path, text !== '' && existing?.truncatedLine === undefined && !text.endsWith('\n') ? '\n' : '')
  return recordModels(ports, createFileSink(path, warn), { findSecrets, existing })
}

/** Stops recording after a write error, but never fails the run: its responses are already paid for. */
function createFileSink(path: string, warn: (message: string) => void): CassetteSink {
  let failed = false
  return (line) => {
    if (failed) return
    try {
      appendFileSync(path, `${line}\n`)
    } catch (thrown) {
      failed = true
      warn(`recording to ${path} stopped: ${(thrown as Error).message}`)
    }
  }
}

function appendText(path: string, text: string): void {
  try {
    appendFileSync(path, text)
  } catch (thrown) {
    throw cassetteFileError(path, 'write', thrown)
  }
}

function readCassetteText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (thrown) {
    throw cassetteFileError(path, 'read', thrown)
  }
}

function cassetteFileError(path: string, action: 'read' | 'write', thrown: unknown): TroupeError {
  return new TroupeError('invalid_cassette', `cannot ${action} the cassette ${path}: ${(thrown as Error).message}`, {
    hint: 'check the path',
    cause: thrown,
  })
}
