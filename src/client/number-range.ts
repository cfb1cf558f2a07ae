/** @throws {RangeError} naming the option, also for NaN */
export function requireBetween(
  name: string,
  value: number,
  minimum: number,
  maximum: number,
): number {
  if (!(value >= minimum && value <= maximum)) {
    throw new RangeError(`${name} must be from ${minimum} to ${maximum}, and is ${value}.`);
  }
  return value;
}

/**
 * For numbers that travel in JSON, which turns NaN and infinities into null: the database, which checks the
 * range, would take them for a value that was not given.
 *
 * @throws {RangeError} naming the option
 */
export function requireFinite(name: string, value: number): number {
  if (!Number.isFinite(value)) {
    throw new RangeError(`${name} must be a finite number, and is ${value}.`);
  }
  return value;
}
