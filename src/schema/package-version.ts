/** The version of this package, as package.json has it. A constant: a bundled program has no package.json beside it. */
export const PACKAGE_VERSION = '0.1.0'
