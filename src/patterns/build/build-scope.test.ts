import { expect, test } from 'vitest'
import { combineChanges } from './build-scope.ts'

const changes = (files_created: string[], files_modified: string[], files_deleted: string[]) => ({
  files_created,
  files_modified,
  files_deleted,
})

test.each([
  ['created, then modified', changes(['a'], [], []), changes([], ['a'], []), changes(['a'], [], [])],
  ['created, then deleted', changes(['a'], [], []), changes([], [], ['a']), changes([], [], [])],
  ['modified, then deleted', changes([], ['a'], []), changes([], [], ['a']), changes([], [], ['a'])],
  ['deleted, then created', changes([], [], ['a']), changes(['a'], [], []), changes([], ['a'], [])],
  ['nothing more', changes(['c'], ['b'], ['a']), changes([], [], []), changes(['c'], ['b'], ['a'])],
  ['the same again', changes([], ['a'], []), changes(['b'], ['a'], []), changes(['b'], ['a'], [])],
])('BD25 the changes of a file that was %s', (_, first, second, expected) => {
  expect(combineChanges(first, second)).toEqual(expected)
})
