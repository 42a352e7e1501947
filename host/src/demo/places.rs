//! What is looked up: real places, with their latitude and longitude in degrees.

pub(super) const PLACES: &[(&str, f64, f64)] = &[
    ("Reykjavik", 64.147, -21.940),
    ("Tromso", 69.649, 18.956),
    ("Helsinki", 60.170, 24.938),
    ("Tallinn", 59.437, 24.754),
    ("Uppsala", 59.859, 17.639),
    ("Gdansk", 54.352, 18.647),
    ("Leipzig", 51.340, 12.375),
    ("Utrecht", 52.091, 5.122),
    ("Ghent", 51.054, 3.725),
    ("Lyon", 45.764, 4.836),
    ("Bilbao", 43.263, -2.935),
    ("Coimbra", 40.211, -8.429),
    ("Bologna", 44.494, 11.343),
    ("Ljubljana", 46.057, 14.506),
    ("Plovdiv", 42.135, 24.745),
    ("Thessaloniki", 40.640, 22.944),
    ("Izmir", 38.424, 27.143),
    ("Tbilisi", 41.716, 44.783),
    ("Samarkand", 39.655, 66.976),
    ("Lahore", 31.558, 74.351),
    ("Pune", 18.520, 73.857),
    ("Kandy", 7.291, 80.634),
    ("Chiang Mai", 18.788, 98.985),
    ("Hue", 16.464, 107.591),
    ("Cebu City", 10.316, 123.885),
    ("Kaohsiung", 22.627, 120.301),
    ("Kanazawa", 36.561, 136.656),
    ("Busan", 35.180, 129.076),
    ("Ulaanbaatar", 47.886, 106.906),
    ("Darwin", -12.463, 130.846),
    ("Hobart", -42.882, 147.327),
    ("Dunedin", -45.879, 170.503),
    ("Papeete", -17.535, -149.570),
    ("Hilo", 19.707, -155.089),
    ("Whitehorse", 60.721, -135.057),
    ("Saskatoon", 52.134, -106.648),
    ("Duluth", 46.787, -92.100),
    ("Savannah", 32.081, -81.091),
    ("Oaxaca", 17.073, -96.727),
    ("Granada", 11.930, -85.956),
    ("Cusco", -13.532, -71.967),
    ("Valparaiso", -33.047, -71.613),
    ("Rosario", -32.944, -60.651),
    ("Recife", -8.048, -34.877),
    ("Praia", 14.933, -23.513),
    ("Kumasi", 6.688, -1.624),
    ("Arusha", -3.387, 36.683),
    ("Bulawayo", -20.133, 28.627),
];

/// Where a place is.
pub(super) fn find(name: &str) -> Option<(f64, f64)> {
    PLACES
        .iter()
        .find(|(place, ..)| *place == name)
        .map(|(_, latitude, longitude)| (*latitude, *longitude))
}
