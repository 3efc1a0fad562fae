import type { TerminalStyle } from './render/styled-line.ts'

/** The command to type: a clone has an npm script. Elsewhere npx finds the installed package, and with `--no` never installs one of that name. */
export function programName({ npm_package_name, npm_lifecycle_event = '' }: NodeJS.ProcessEnv): string {
  const isScript = npm_package_name === 'troupe' && ['troupe', 'demo'].includes(npm_lifecycle_event)
  return isScript ? 'npm run -s troupe --' : 'npx --no troupe'
}

/** Adds `--store`, `--project` and `--trust-project` to the commands in hints, so that they find the same runs. */
export function setProgramName(
  styles: readonly TerminalStyle[],
  { store, project, trustProject }: { store?: string; project?: string; trustProject?: boolean },
): void {
  const flags = [
    ...(store ? ['--store', quoteShellWord(store)] : []),
    ...(project ? ['--project', quoteShellWord(project)] : []),
    ...(trustProject ? ['--trust-project'] : []),
  ]
  for (const style of styles) style.program = [programName(process.env), ...flags].join(' ')
}

/** Arguments for a command to copy. After `--` no value is an option, whatever it begins with. */
export function commandArguments(...values: readonly string[]): string {
  const words = values.map(quoteShellWord)
  return values.some((value) => value.startsWith('-')) ? `-- ${words.join(' ')}` : words.join(' ')
}

/** Quotes a word for POSIX shells. */
export function quoteShellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
