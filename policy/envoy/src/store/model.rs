// placeholder for now
