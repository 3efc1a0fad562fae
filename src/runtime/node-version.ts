/** The oldest supported Node; `engines` in package.json says the same. `node:sqlite` of 22.19 fails on valid statements. */
const OLDEST_NODE = '22.20.0'

/** Says what to do if this version of Node is too old; `undefined` if it is supported. */
export function nodeVersionProblem(version: string): string | undefined {
  const isOlder = version.localeCompare(OLDEST_NODE, 'en', { numeric: true }) < 0
  return isOlder ? `Troupe needs Node ${OLDEST_NODE} or newer, and this is Node ${version}` : undefined
}
