/** What the room of this name defines, provides and reads: the kernel passes it on. */
export interface PatternPart<Name extends string> {
  /** Only for the compiler: never set. */
  readonly '~part'?: Name
}
