import { writeFile } from 'node:fs/promises'
import { TroupeError } from '../../../errors.ts'
import type { ArtifactRow, Troupe } from '../../../index.ts'
import { formatAge, formatCompactCount } from '../../../views/format-amount.ts'
import { stripControlCharacters, toTerminalLine } from '../../../views/text-width.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { findRun } from '../find-run.ts'
import { withTroupe } from '../open-troupe.ts'
import type { TerminalStyle } from '../render/styled-line.ts'
import type { Column } from '../render/table.ts'
import { renderTable } from '../render/table.ts'

type ArtifactSummary = Omit<ArtifactRow, 'content'>

type ArtifactsCli = Cli<{ version?: string; out?: string }>

/** Lists the artifacts of a run, or prints the content of one. */
export function artifactsCommand(cli: ArtifactsCli, run?: string, name?: string): Promise<number> {
  return withTroupe(cli, 'existing', async (troupe) => {
    const { run_id } = await findRun(cli, troupe, run)
    if (name === undefined) await listArtifacts(cli, troupe, run_id)
    else await printArtifact(cli, troupe, { run_id, name })
    return EXIT.done
  })
}

async function listArtifacts(cli: ArtifactsCli, troupe: Troupe, run_id: string): Promise<void> {
  const { options, terminal } = cli
  for (const flag of ['version', 'out'] as const) {
    if (options[flag] === undefined) continue
    throw new TroupeError('invalid_input', `--${flag} needs the name of an artifact`, {
      hint: `troupe artifacts ${run_id} NAME --${flag} …`,
    })
  }
  const rows = await troupe.artifacts(run_id).all()
  if (options.json) printJson(cli, rows)
  else if (rows.length === 0) terminal.note(`${run_id} has no artifacts`)
  else for (const line of artifactsTable(rows, Date.now(), terminal.out)) terminal.print(line)
}

const SHORT_CHECKSUM = 12

function artifactsTable(rows: readonly ArtifactSummary[], now: number, style: TerminalStyle): string[] {
  const columns: Column<ArtifactSummary>[] = [
    { title: 'name', text: ({ name }) => toTerminalLine(name), flexible: true },
    { title: 'version', text: ({ version }) => String(version), align: 'right' },
    { title: 'agent', text: ({ by }) => toTerminalLine(by) },
    { title: 'bytes', text: ({ size }) => formatCompactCount(size), align: 'right' },
    { title: 'checksum', text: ({ checksum }) => checksum.slice(0, SHORT_CHECKSUM), dropBelow: 16 },
    { title: 'age', text: ({ at }) => formatAge(now - at), align: 'right' },
  ]
  return renderTable(rows, columns, style)
}

async function printArtifact(
  cli: ArtifactsCli,
  troupe: Troupe,
  given: { run_id: string; name: string },
): Promise<void> {
  const { options, terminal } = cli
  const asked = parseVersion(options.version)
  const reference = asked === undefined ? await resolveReference(troupe, given) : { ...given, version: asked }
  const artifact = await troupe.getArtifact(given.run_id, reference.name, reference.version)
  const { name, content, version, size } = artifact
  if (options.out !== undefined) {
    await writeContent(options.out, content)
    terminal.note(`${name}@${version}: ${size} bytes written to ${options.out}`)
  } else if (options.json) printJson(cli, artifact)
  // Terminal injection: escape sequences of a model must not reach a terminal. A pipe gets the exact content.
  else if (terminal.outputIsTTY) terminal.print(stripControlCharacters(content))
  else terminal.print(content.replace(/\n$/, ''))
}

async function writeContent(path: string, content: string): Promise<void> {
  try {
    await writeFile(path, content)
  } catch (thrown) {
    throw new TroupeError('invalid_input', `--out ${path} cannot be written: ${(thrown as Error).message}`, {
      hint: 'give the path of a file in an existing folder',
      cause: thrown,
    })
  }
}

/** Takes `plan@2`, as conversations and results write it, apart, unless an artifact has that very name. */
async function resolveReference(
  troupe: Troupe,
  { run_id, name }: { run_id: string; name: string },
): Promise<{ name: string; version?: number }> {
  const [, base, version] = /^(.+)@([1-9]\d{0,8})$/.exec(name) ?? []
  if (base === undefined) return { name }
  const names = new Set((await troupe.artifacts(run_id).all()).map((artifact) => artifact.name))
  return names.has(name) || !names.has(base) ? { name } : { name: base, version: Number(version) }
}

function parseVersion(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new TroupeError('invalid_input', `--version ${text} is not a version`, {
    hint: 'give a number from 1, such as --version 2',
  })
}
