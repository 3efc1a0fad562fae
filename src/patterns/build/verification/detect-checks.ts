import type { BuildChecks } from '../build-config.ts'
import type { CheckCommand } from './check.ts'

/*
 * The commands that verify a project, from the files at its top. `build.checks` of the configuration wins over what is found; a check
 * with an empty command is left out.
 */

/** Files that detection reads; the text of those that exist. */
export const PROJECT_FILES = [
  'package.json',
  'tsconfig.json',
  'pyproject.toml',
  'pytest.ini',
  'setup.cfg',
  'tox.ini',
  'go.mod',
  'Cargo.toml',
  'Makefile',
  'pnpm-lock.yaml',
  'yarn.lock',
  'bun.lock',
] as const

export type ManifestFiles = Readonly<Partial<Record<string, string>>>

export function detectChecks(files: ManifestFiles, configured: BuildChecks): CheckCommand[] {
  const found = [...packageChecks(files), ...pythonChecks(files), ...goChecks(files), ...cargoChecks(files)]
  const detected = found.length > 0 ? found : makeChecks(files)
  const kinds = ['test', 'type_check', 'lint'] as const
  const own = kinds.flatMap((kind): CheckCommand[] => {
    const command = configured[kind]
    return command === undefined ? [] : [{ name: kind, kind, command, required: kind !== 'lint', source: 'config' }]
  })
  const overridden = new Set<string>(own.map(({ kind }) => kind))
  const custom = Object.entries(configured.custom ?? {}).map(([name, entry]): CheckCommand => {
    const { command, required } = typeof entry === 'string' ? { command: entry, required: true } : entry
    return { name, kind: 'custom', command, required: required ?? true, source: 'config' }
  })
  const all = [...own, ...detected.filter(({ kind }) => !overridden.has(kind)), ...custom]
  return all.filter(({ command }) => command.trim() !== '').sort((a, b) => Number(b.required) - Number(a.required))
}

type CheckKind = CheckCommand['kind']

function check(kind: CheckKind, command: string, source: string): CheckCommand {
  return { name: kind, kind, command, required: kind !== 'lint', source }
}

/** npm writes this as the script `test` of a new project: it always fails, and says nothing about the code. */
const NO_TEST_SCRIPT = /no test specified/

const TYPE_CHECK_SCRIPTS = ['typecheck', 'type-check', 'types', 'check-types', 'tsc']

function packageChecks(files: ManifestFiles): CheckCommand[] {
  const text = files['package.json']
  if (text === undefined) return []
  const scripts = packageScripts(text)
  const run = (script: string) => `${packageManager(files)} run ${script}`
  const checks: CheckCommand[] = []
  if (scripts.test !== undefined && !NO_TEST_SCRIPT.test(scripts.test))
    checks.push(check('test', run('test'), 'package.json'))
  const types = TYPE_CHECK_SCRIPTS.find((name) => scripts[name] !== undefined)
  if (types !== undefined) checks.push(check('type_check', run(types), 'package.json'))
  else if (files['tsconfig.json'] !== undefined && /"typescript"\s*:/.test(text)) {
    checks.push(check('type_check', 'npx --no-install tsc --noEmit', 'tsconfig.json'))
  }
  if (scripts.lint !== undefined) checks.push(check('lint', run('lint'), 'package.json'))
  return checks
}

function packageScripts(text: string): Record<string, string | undefined> {
  try {
    const { scripts } = JSON.parse(text) as { scripts?: unknown }
    if (typeof scripts !== 'object' || scripts === null) return {}
    return Object.fromEntries(Object.entries(scripts).filter(([, command]) => typeof command === 'string'))
  } catch {
    return {}
  }
}

function packageManager(files: ManifestFiles): string {
  if (files['pnpm-lock.yaml'] !== undefined) return 'pnpm'
  if (files['yarn.lock'] !== undefined) return 'yarn'
  return files['bun.lock'] === undefined ? 'npm' : 'bun'
}

function pythonChecks(files: ManifestFiles): CheckCommand[] {
  const settings = ['pyproject.toml', 'setup.cfg', 'tox.ini'].map((name) => files[name] ?? '').join('\n')
  const checks: CheckCommand[] = []
  if (files['pytest.ini'] !== undefined || /pytest/.test(settings)) {
    checks.push(
      check('test', 'python3 -m pytest -q', files['pytest.ini'] === undefined ? 'pyproject.toml' : 'pytest.ini'),
    )
  }
  if (/\[(?:tool\.)?mypy\b/.test(settings)) checks.push(check('type_check', 'python3 -m mypy .', 'pyproject.toml'))
  if (/\[tool\.ruff\b/.test(settings)) checks.push(check('lint', 'python3 -m ruff check .', 'pyproject.toml'))
  return checks
}

function goChecks(files: ManifestFiles): CheckCommand[] {
  if (files['go.mod'] === undefined) return []
  return [
    check('test', 'go test ./...', 'go.mod'),
    check('type_check', 'go build ./...', 'go.mod'),
    check('lint', 'go vet ./...', 'go.mod'),
  ]
}

function cargoChecks(files: ManifestFiles): CheckCommand[] {
  if (files['Cargo.toml'] === undefined) return []
  return [
    check('test', 'cargo test --offline', 'Cargo.toml'),
    check('type_check', 'cargo check --offline', 'Cargo.toml'),
  ]
}

/** Targets of a Makefile, only where nothing more specific is known. */
function makeChecks(files: ManifestFiles): CheckCommand[] {
  const text = files.Makefile
  if (text === undefined) return []
  const has = (target: string) => new RegExp(`^${target}\\s*:(?!=)`, 'm').test(text)
  return [
    ...(has('test')
      ? [check('test', 'make test', 'Makefile')]
      : has('check')
        ? [check('test', 'make check', 'Makefile')]
        : []),
    ...(has('lint') ? [check('lint', 'make lint', 'Makefile')] : []),
  ]
}
