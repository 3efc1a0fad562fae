import type { TerminalStyle } from './render/styled-line.ts'

/** From a clone there is no `troupe` in the path: there it is a script, and so is the demo. */
export function programName({ npm_package_name, npm_lifecycle_event = '' }: NodeJS.ProcessEnv): string {
  const byScript = npm_package_name === 'troupe' && ['troupe', 'demo'].includes(npm_lifecycle_event)
  return byScript ? 'npm run -s troupe --' : 'troupe'
}

/** Commands that are shown from now on look where this one looked: without its store they would find other runs. */
export function setProgramName(
  styles: readonly TerminalStyle[],
  { store, project }: { store?: string; project?: string },
): void {
  const where = [
    ...(store ? ['--store', quoteShellWord(store)] : []),
    ...(project ? ['--project', quoteShellWord(project)] : []),
  ]
  for (const style of styles) style.program = [programName(process.env), ...where].join(' ')
}

/** A word as a shell takes it. */
export function quoteShellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
